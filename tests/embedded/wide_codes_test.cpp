#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converters/embedded/scales.hpp"
#include "reference/executor.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

model::Model conv_model(double bias) {
  return make_model("agraph (float[1,2,5,5] x) => (float[1,4,5,5] y) {\n y = Conv <pads=[1,1,1,1]> (x, w, b)\n}",
                    {{"w", drawn({4, 2, 3, 3}, 1)}, {"b", floats({4}, {bias, -bias, 0.5, 0})}});
}

converters::Options types(DType activation, DType weight) {
  converters::Options options;
  options.activation = activation;
  options.weight = weight;
  return options;
}

const core::Tensor& codes_read_by(const model::Model& artifact, std::size_t input) {
  const auto& nodes = artifact.graph.nodes;
  const auto conv = std::ranges::find(nodes, "Conv", &model::Node::op_type);
  const model::Wiring wiring(artifact.graph);
  return *artifact.graph.initializer(nodes[*wiring.producer(conv->inputs[input])].inputs[0]);
}

std::int64_t farthest(const core::Tensor& codes) {
  std::int64_t largest = 0;
  for (const std::int64_t code : codes.to_integers()) largest = std::max(largest, std::abs(code));
  return largest;
}

/// The largest difference between the artifact and the float model, in steps of the output.
double off_by(const model::Model& model, const Conversion& conversion, const core::TensorMap& inputs) {
  const auto expected = reference::execute(model, inputs);
  const auto actual = reference::execute(conversion.artifact, inputs);
  EXPECT_TRUE(expected && actual);
  if (!expected || !actual) return 0;
  double largest = 0;
  for (std::int64_t i = 0; i < expected->at("y").size(); ++i) {
    largest = std::max(largest, std::abs(actual->at("y").as_real(i) - expected->at("y").as_real(i)));
  }
  return largest / params_of(conversion, "y")->scale.front();
}

TEST(WideCodes, ActivationsOf16BitsNeedOpset21) {
  const auto model = conv_model(0.4);
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed, types(DType::uint16, DType::int8));
  EXPECT_EQ(conversion.artifact.opsets.at(""), 21);
  EXPECT_EQ(params_of(conversion, "x")->type, DType::uint16);
  EXPECT_GT(params_of(conversion, "x")->zero_point.front(), 255);
  EXPECT_EQ(codes_read_by(conversion.artifact, 1).type(), DType::int8);
  EXPECT_EQ(codes_read_by(conversion.artifact, 2).type(), DType::int32);
}

TEST(WideCodes, WeightsOf16BitsUseAllTheirCodes) {
  const auto model = conv_model(0.4);
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed, types(DType::int16, DType::int16));
  EXPECT_EQ(farthest(codes_read_by(conversion.artifact, 1)), 32767);
  EXPECT_LT(off_by(model, conversion, feed[0]), 3);
}

TEST(WideCodes, ABiasThatDoesNotFitRaisesTheScaleOfItsWeight) {
  const auto model = conv_model(90);
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed, types(DType::int16, DType::int16));
  EXPECT_GT(farthest(codes_read_by(conversion.artifact, 2)), std::int64_t{1} << 30);
  EXPECT_LT(off_by(model, conversion, feed[0]), 10);  // cut off it would be thousands
}

TEST(WideCodes, WeightsOf4BitsEndAtSeven) {
  const auto model = conv_model(0.4);
  const auto conversion = converted(model, make_feed(model), types(DType::int8, DType::int4));
  const auto& codes = codes_read_by(conversion.artifact, 1);
  EXPECT_EQ(codes.type(), DType::int4);
  EXPECT_EQ(farthest(codes), 7);
}

}  // namespace
}  // namespace assay::embedded
