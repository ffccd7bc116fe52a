#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "numeric_fixture.hpp"

// What a released executor was found to do with Q/DQ artifacts: the minimal models of docs/converters/onnxruntime.md.
// L1 has a term for the first, and may have none for the others.
namespace assay::judge::testing {
namespace {

using converters::EngineArithmetic;

constexpr double kStep = 1.10000002384185791015625;  // 1.1 in float32

/// A quantized Conv 1x1 with a real bias: s_x·s_w = 1/8, bias 0.43, which is 3.44 of them; s_y = 1.1.
model::Model real_bias() {
  const std::string text =
      "g (float[1,1,1,4] x) => (float[1,1,1,4] y) { xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) "
      "wd = DequantizeLinear(wq, ws, z) c = Conv <kernel_shape=[1,1]> (xd, wd, b) "
      "yq = QuantizeLinear(c, ys, z) y = DequantizeLinear(yq, ys, z) }";
  return parse(text, {{"xs", Tensor::scalar(DType::float32, 0.5)},
                      {"z", codes(DType::int8, {}, {0})},
                      {"ws", Tensor::scalar(DType::float32, 0.25)},
                      {"wq", codes(DType::int8, {1, 1, 1, 1}, {3})},
                      {"b", reals({1}, {float32(0.43)})},
                      {"ys", Tensor::scalar(DType::float32, kStep)}});
}

/// It executed on the codes 15, 1, 0, 8, which are sums of 45, 3, 0, 24 eighths: (sum/8 + 0.43)/1.1 = 5.5045, 0.73,
/// 0.39, 3.12. `y` are the codes that come out.
struct Executed : Judged {
  explicit Executed(std::vector<double> y) : Judged(real_bias(), real_bias()) {
    for (double& code : y) {
      code = float32(code * kStep);
    }
    add("typical", {{"x", reals({1, 1, 1, 4}, {7.5, 0.5, 0, 4})}}, {{"y", reals({1, 1, 1, 4}, std::move(y))}});
  }
};

TEST(ExecutorArithmetic, ARealBiasMayBecomeACodeOfTheAccumulator) {
  const auto style = [](std::vector<double> y, EngineArithmetic arithmetic = EngineArithmetic::unknown) {
    Executed judged(std::move(y));
    judged.evidence.converter.policy.arithmetic = arithmetic;
    return judged.integers().empty() ? core::word_of(judged.judgement.style) : "none";
  };
  EXPECT_EQ(style({6, 1, 0, 3}), "half_even");
  EXPECT_EQ(style({5, 1, 0, 3}), "rounded_bias");  // 45/8 + 0.375: 5.4545
  EXPECT_EQ(style({5, 0, 0, 3}), "none");          // without the bias: 5.11, 0.34, 0, 2.73
  EXPECT_EQ(style({5, 1, 0, 3}, EngineArithmetic::floating), "none");
}

TEST(ExecutorArithmetic, ABoundGrantsThatCodeWhereL1RecognizedIt) {
  Executed judged({5, 1, 0, 3});
  judged.calibrate();
  Judgement as_recognized, as_exact;
  as_recognized.style = StyleName::rounded_bias;
  as_exact.style = StyleName::float_multiply;
  EXPECT_THAT(judged.bounds(as_recognized), ::testing::IsEmpty());
  EXPECT_THAT(judged.bounds(as_exact), ::testing::SizeIs(1));
}

TEST(ExecutorArithmetic, ABiasOnTheInputChannelsScaleIsFound) {
  // ConvTranspose 1x1 of two channels, weight scales 1 and 1/128 along the input channels: a bias of 0.4 is no
  // multiple of s_x·1, and no output channel has that scale.
  const std::string text =
      "g (float[1,2,1,1] x) => (float[1,2,1,1] y) { xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) "
      "wd = DequantizeLinear<axis=0>(wq, ws, wz) c = ConvTranspose <kernel_shape=[1,1]> (xd, wd, b) "
      "yq = QuantizeLinear(c, ys, z) y = DequantizeLinear(yq, ys, z) }";
  const model::Model artifact = parse(text, {{"xs", Tensor::scalar(DType::float32, 1)},
                                             {"z", codes(DType::int8, {}, {0})},
                                             {"ws", reals({2}, {1, 0.0078125})},
                                             {"wz", codes(DType::int8, {2}, {0, 0})},
                                             {"wq", codes(DType::int8, {2, 2, 1, 1}, {1, 0, 0, 100})},
                                             {"b", reals({2}, {float32(0.4), 0})},
                                             {"ys", Tensor::scalar(DType::float32, 0.125)}});
  const auto findings = [&](double first) {
    Judged judged(artifact, artifact);
    // (1 + 0.4)/0.125 = 11.2; 100/128/0.125 = 6.25
    judged.add("typical", {{"x", reals({1, 2, 1, 1}, {1, 1})}}, {{"y", reals({1, 2, 1, 1}, {first * 0.125, 0.75})}});
    return judged.integers().size();
  };
  EXPECT_EQ(findings(11), 0U);
  EXPECT_EQ(findings(8), 1U);  // the bias rounded to 0
}

TEST(ExecutorArithmetic, ASoftmaxScaledByTheFloorOfAReciprocalIsFound) {
  const double scale = float32(1 / 255.0);  // above 1/255: the floor of its float32 reciprocal is 254
  const std::string text =
      "g (float[1,2] x) => (float[1,2] y) { xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) "
      "s = Softmax<axis=-1>(xd) yq = QuantizeLinear(s, ys, z) y = DequantizeLinear(yq, ys, z) }";
  const model::Model artifact = parse(text, {{"xs", Tensor::scalar(DType::float32, 0.125)},
                                             {"z", codes(DType::uint8, {}, {0})},
                                             {"ys", Tensor::scalar(DType::float32, scale)}});
  const auto findings = [&](double code) {
    Judged judged(artifact, artifact);
    // 1/(1 + e^-12)·255 = 254.998
    judged.add("typical", {{"x", reals({1, 2}, {12, 0})}}, {{"y", reals({1, 2}, {float32(code * scale), 0})}});
    return judged.integers().size();
  };
  EXPECT_EQ(findings(255), 0U);
  EXPECT_EQ(findings(254), 1U);
}

}  // namespace
}  // namespace assay::judge::testing
