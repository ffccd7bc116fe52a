#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::Bench;
using testing::codes;
using ::testing::HasSubstr;
using testing::reals;
using testing::Tensor;

/// A Relu between pairs of one scale, zero_point 0.
void one_relu(Bench& bench, DType type, double scale) {
  bench.original_text = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }";
  bench.weights.clear();
  bench.artifact_text =
      "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) r = Relu(xd)"
      " yq = QuantizeLinear(r, s, z) y = DequantizeLinear(yq, s, z) }";
  bench.constants = {{"s", Tensor::scalar(DType::float32, testing::float32(scale))}, {"z", codes(type, {}, {0})}};
}

TEST(Trust, ZeroOutputsProveNothing) {
  Bench bench;
  bench.weights["w"] = reals({2, 3}, {0, 0, 0, 0, 0, 0});
  bench.weights["b"] = reals({2}, {0, 0});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {0, 0, 0, 0, 0, 0});
  bench.constants["bq"] = codes(DType::int32, {2}, {0, 0});
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted) << out.reason;
  EXPECT_EQ(out.gate, Gate::red);
  bench.test_case.tags = {"imported"};
  EXPECT_EQ(bench.run().gate, Gate::amber);
}

TEST(Trust, ZeroPointsThatAreAllZeroProveNothingAboutThem) {
  Bench bench;
  bench.batches = {{{"x", reals({2, 3}, {0, 3, 1, 2, 0, 1})}}};
  bench.evidence.options.activation = DType::uint8;
  one_relu(bench, DType::uint8, 3.0 / 255);
  bench.execute("typical", reals({2, 3}, {1, 2, 0.3, 1.7, 0.3, 0.4}));
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted);
  EXPECT_THAT(out.reason, HasSubstr("zero_point is 0"));
}

TEST(Trust, ASaturatingDataSetMustSaturate) {
  Bench bench;
  bench.test_case.inputs["x"].data_sets = {"typical", "saturate"};
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted);
  EXPECT_THAT(out.reason, HasSubstr("saturate"));
  bench.execute("saturate", reals({2, 3}, {-0.9, 3.5, 1.1, 1.7, 0.3, -1.4}));
  out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

TEST(Trust, SymmetricOptionsAskForNoZeroPoints) {
  Bench bench;
  bench.evidence.options.symmetric = true;
  one_relu(bench, DType::int8, 3.0 / 127);
  bench.execute("typical", reals({2, 3}, {1, 2, -0.3, 1.7, 0.3, 0.4}));
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << out.reason;
}

TEST(Trust, ChannelsThatAreAlikeProveNothingAboutTheirAxis) {
  Bench bench;
  bench.weights["w"] = reals({2, 3}, {1, 2, -4, 4, -0.25, 0.125});
  bench.constants["wq"] = codes(DType::int8, {2, 3}, {32, 64, -127, 127, -8, 4});
  const double scale = testing::float32(4.0 / 127), input = testing::float32(4.0 / 255);
  bench.constants["ws"] = reals({2}, {scale, scale});
  bench.constants["bs"] = reals({2}, {testing::float32(input * scale), testing::float32(input * scale)});
  bench.constants["bq"] = codes(DType::int32, {2}, {1012, -2024});
  bench.batches = {{{"x", reals({2, 3}, {-1, 3, 1, 2, 0, -1})}}};
  // y = x·wᵀ + b of the batch: {1.5, -5.625, 6.5, 6.875}, so s_y = 12.5/255 and z_y = round(-128 + 114.75) = -13.
  bench.set_scalar("ys", 12.5 / 255);
  bench.constants["yz"] = codes(DType::int8, {}, {-13});
  bench.execute();
  Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted) << out.reason;
  EXPECT_THAT(out.reason, HasSubstr("channels of every weight are alike"));
}

TEST(Trust, OutputsAtOneEndProveNothing) {
  Bench bench;
  bench.execute("typical", reals({2, 3}, {2.9, 3, -1, 3, 3, -1}));
  bench.evidence.executions.front().outputs =
      reference::execute(*bench.evidence.artifact, bench.evidence.executions.front().inputs).value();
  Judgement out = bench.run();
  ASSERT_NE(out.verdict, Verdict::mistrusted) << "half of the outputs discriminate: " << out.reason;
  bench.original_text = "g (float[2,3] x) => (float[2,3] y) { y = Clip(x, l, h) }";
  bench.weights = {{"l", Tensor::scalar(DType::float32, -0.5)}, {"h", Tensor::scalar(DType::float32, 0.5)}};
  bench.artifact_text =
      "a (float[2,3] x) => (float[2,3] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " r = Clip(xd, l, h) yq = QuantizeLinear(r, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
  bench.constants = {{"s", Tensor::scalar(DType::float32, testing::float32(4.0 / 255))},
                     {"z", codes(DType::int8, {}, {-64})},
                     {"ys", Tensor::scalar(DType::float32, testing::float32(1.0 / 255))},
                     {"yz", codes(DType::int8, {}, {0})},
                     {"l", Tensor::scalar(DType::float32, -0.5)},
                     {"h", Tensor::scalar(DType::float32, 0.5)}};
  bench.evidence.executions.clear();
  bench.execute("typical", reals({2, 3}, {2.9, 3, 1, 3, 3, 1}));
  out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::mistrusted) << out.reason;
  EXPECT_THAT(out.reason, HasSubstr("sit at one end"));
}

TEST(Trust, CountsOverTheUnionOfTheDataSets) {
  Bench bench;
  bench.execute("zeros", reals({2, 3}, {0, 0, 0, 0, 0, 0}));
  bench.execute();
  const Judgement out = bench.run();
  EXPECT_EQ(out.verdict, Verdict::pass) << "one set that proves nothing is no matter: " << out.reason;
}

}  // namespace
}  // namespace assay::judge
