#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "converters/embedded/engine/engine.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/embedded/small_models.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::embedded {
namespace {

core::Tensor codes(const core::Shape& shape, std::vector<std::int64_t> values) {
  return core::Tensor(core::DType::int8, shape, std::move(values));
}

core::Tensor drawn_codes(const core::Shape& shape, std::uint64_t seed) {
  const auto reals = drawn(shape, seed, 40).to_reals();
  std::vector<std::int64_t> values;
  for (const double real : reals)
    values.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(real), -127, 127));
  return codes(shape, std::move(values));
}

std::map<std::string, core::Tensor> constants() {
  return {{"xs", floats({}, {0.021})},          {"xz", codes({}, {-7})},
          {"ys", floats({}, {0.33})},           {"yz", codes({}, {4})},
          {"wq", drawn_codes({3, 2, 3, 2}, 4)}, {"ws", floats({3}, {0.01, 0.02, 0.03})},
          {"wz", codes({3}, {0, 0, 0})},        {"b", drawn({3}, 5)},
          {"g", floats({3}, {0.5, -2, 1.5})},   {"va", floats({3}, {0.25, 4, 1})},
          {"p", floats({3}, {0.1, 0.2, -0.3})}};
}

const char* const kHead = R"(agraph (float[1,2,6,5] x) => (float[1,3,6,5] y) {
      xq = QuantizeLinear (x, xs, xz)
      xd = DequantizeLinear (xq, xs, xz)
      wd = DequantizeLinear <axis=0> (wq, ws, wz)
    )";
const char* const kTail = R"(
      yq = QuantizeLinear (r, ys, yz)
      y = DequantizeLinear (yq, ys, yz)
    })";

TEST(Import, KeepsTheGivenParametersAndRunsBetweenThemOnIntegers) {
  const auto model = make_model(std::string(kHead) + "r = Conv <pads=[1,0,1,1]> (xd, wd, b)" + kTail, constants());
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  EXPECT_EQ(got(conversion, "r"), "int8");
  ASSERT_NE(params_of(conversion, "x"), nullptr);
  EXPECT_NEAR(params_of(conversion, "x")->scale[0], 0.021, 1e-9);
  EXPECT_EQ(params_of(conversion, "x")->zero_point[0], -7);
  EXPECT_EQ(conversion.artifact.graph.initializers.at("wq")->to_integers(), constants().at("wq").to_integers());
  EXPECT_EQ(conversion.artifact.graph.initializers.at("b_quantized")->type(), core::DType::int32);
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 60) << "the same integers but for ties";
}

TEST(Import, FoldsBatchNormalizationIntoTheScalesOfGivenCodes) {
  const auto model = make_model(std::string(kHead) +
                                    "c = Conv <pads=[1,0,1,1]> (xd, wd)\n"
                                    " r = BatchNormalization (c, g, p, p, va)" +
                                    kTail,
                                constants());
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  EXPECT_EQ(got(conversion, "c"), "int8");
  EXPECT_EQ(got(conversion, "r"), "int8");
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 45);
}

TEST(Import, FindsScalesBehindConstantAndIdentityNodes) {
  const auto model = make_model(R"(agraph (float[1,2,6,5] x) => (float[1,3,6,5] y) {
      s = Constant <value_float = 0.021> ()
      s2 = Identity (s)
      xq = QuantizeLinear (x, s2, xz)
      xd = DequantizeLinear (xq, s2, xz)
      wd = DequantizeLinear <axis=0> (wq, ws, wz)
      r = Conv <pads=[1,0,1,1]> (xd, wd, b)
      yq = QuantizeLinear (r, ys, yz)
      y = DequantizeLinear (yq, ys, yz)
    })",
                                constants());
  const auto conversion = converted(model, make_feed(model));
  EXPECT_EQ(got(conversion, "r"), "int8");
  EXPECT_NEAR(params_of(conversion, "x")->scale[0], 0.021, 1e-9);
}

TEST(Import, SumsOnCodesWhereOnlyTheOutputIsLeftInFloat) {
  const auto model = make_model(std::string(kHead) + "y = Conv <pads=[1,0,1,1]> (xd, wd, b)\n}", constants());
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  EXPECT_EQ(got(conversion, "y"), "int8");
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 110);
}

TEST(Import, QuantizesTheRestWhereInt8IsDemanded) {
  const auto model = make_model(std::string(kHead) + "y = Conv <pads=[1,0,1,1]> (xd, wd, b)\n}", constants());
  converters::Options options;
  options.precision = {{"*", "int8"}};
  const auto feed = make_feed(model);
  const auto conversion = convert_in_memory(model, feed, options);
  ASSERT_TRUE(conversion);
  ASSERT_EQ(conversion->reply.outcome, converters::Outcome::ok) << conversion->reply.reason;
  EXPECT_EQ(got(*conversion, "y"), "int8");
  EXPECT_NEAR(params_of(*conversion, "x")->scale[0], 0.021, 1e-9) << "given parameters stay";
  EXPECT_NE(params_of(*conversion, "y"), nullptr);
  EXPECT_GT(sqnr_of(model, conversion->artifact, feed[0]), 30);
}

TEST(Import, WeightsAlongTheInputChannelsAreHonouredInFloat) {
  auto given = constants();
  given["wq"] = drawn_codes({2, 3, 2, 2}, 8);
  given["ws"] = floats({2}, {0.01, 0.09});
  given["wz"] = codes({2}, {0, 0});
  const auto model = make_model(R"(agraph (float[1,2,6,5] x) => (float[1,3,12,10] y) {
      xq = QuantizeLinear (x, xs, xz)
      xd = DequantizeLinear (xq, xs, xz)
      wd = DequantizeLinear <axis=0> (wq, ws, wz)
      r = ConvTranspose <strides=[2,2]> (xd, wd, b)
      yq = QuantizeLinear (r, ys, yz)
      y = DequantizeLinear (yq, ys, yz)
    })",
                                given);
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  EXPECT_EQ(got(conversion, "r"), "fp32");
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 60);
}

TEST(Import, ChosenFloatNodesLeaveTheirCodes) {
  const auto model = make_model(std::string(kHead) + "r = Conv <pads=[1,0,1,1]> (xd, wd, b)" + kTail, constants());
  converters::Options options;
  options.precision = {{"Conv", "fp32"}};
  EXPECT_EQ(got(converted(model, make_feed(model), options), "r"), "fp32");
}

TEST(Import, RealExportsConvertAndKeepTheirOutputs) {
  int ran = 0;
  for (const auto* name : {"residual_with_quantizer", "residual_without_quantizer", "deconv_output"}) {
    const auto path = test::source_tree() / "cases" / "qdq_import" / (std::string(name) + ".qdq.onnx");
    const auto model = model::load_model(path);
    ASSERT_TRUE(model) << model.error().message;
    const auto feed = make_feed(*model, 2);
    const auto conversion = converted(*model, feed);
    EXPECT_GT(sqnr_of(*model, conversion.artifact, feed[0]), 40) << name;
    const auto weight =
        std::ranges::find_if(conversion.reply.tensors, [](const auto& tensor) { return tensor.name == "out.weight"; });
    if (weight != conversion.reply.tensors.end()) {
      EXPECT_EQ(weight->params.axis, 0) << "declared along the input channels, and kept so";
      EXPECT_EQ(weight->params.scale.size(), 64U);
      EXPECT_EQ(got(conversion, "/out/ConvTranspose"), "fp32");
    } else {
      EXPECT_EQ(got(conversion, "/c1/Conv"), "int8") << name;
      EXPECT_EQ(got(conversion, "/b1/BatchNormalization"), "int8") << name;
    }
    ++ran;
  }
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace assay::embedded
