#include "converters/embedded/on_codes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "converters/embedded/packed_weights.hpp"
#include "converters/embedded/scales.hpp"
#include "reference/executor.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

using testing::ElementsAre;

std::vector<std::string> operators_of(const model::Model& model) {
  std::vector<std::string> all;
  for (const auto& node : model.graph.nodes) all.push_back(model::operator_name(node));
  return all;
}

/// The artifact in QOperator format, after it has given the same outputs as in Q/DQ format, a code apart at most.
model::Model packed(const model::Model& model, const std::vector<core::TensorMap>& feed,
                    const converters::Options& options = {}) {
  const auto conversion = converted(model, feed, options);
  const auto on = on_codes(conversion.artifact);
  const auto expected = reference::execute(conversion.artifact, feed[0]);
  const auto actual = reference::execute(on, feed[0]);
  EXPECT_TRUE(expected && actual) << (actual ? "" : actual.error().message);
  if (!expected || !actual) return on;
  for (const auto& [name, tensor] : *expected) {
    const double step = params_of(conversion, name)->scale.front();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      EXPECT_NEAR(actual->at(name).as_real(i), tensor.as_real(i), 1.01 * step) << name << i;
    }
  }
  return on;
}

TEST(OnCodes, OperatorsBetweenQuantizersBecomeThoseOnCodes) {
  const auto model = make_model(
      "agraph (float[1,4,6,6] x) => (float[1,5] y) {\n a = Conv (x, w, b)\n r = Sigmoid (a)\n s = Add (a, r)\n"
      " c = Concat <axis=1> (s, r)\n p = GlobalAveragePool (c)\n f = Flatten (p)\n y = Gemm <transB=1> (f, v, u)\n}",
      {{"w", drawn_spread({3, 4, 3, 3}, 0, 1)},
       {"b", drawn({3}, 2)},
       {"v", drawn_spread({5, 6}, 0, 3)},
       {"u", drawn({5}, 4)}});
  const auto on = packed(model, make_feed(model));
  EXPECT_THAT(operators_of(on),
              ElementsAre("QuantizeLinear", "QLinearConv", "com.microsoft.QLinearSigmoid", "com.microsoft.QLinearAdd",
                          "com.microsoft.QLinearConcat", "com.microsoft.QLinearGlobalAveragePool", "Flatten",
                          "com.microsoft.QGemm", "DequantizeLinear"));
  EXPECT_EQ(on.opsets.at("com.microsoft"), 1);
}

TEST(OnCodes, ReluGoesWhereItsBoundIsTheLowestCode) {
  const auto model = make_model("agraph (float[1,2,4,4] x) => (float[1,3,4,4] y) {\n a = Conv (x, w)\n y = Relu (a)\n}",
                                {{"w", drawn({3, 2, 1, 1}, 1)}});
  EXPECT_THAT(operators_of(packed(model, make_feed(model))),
              ElementsAre("QuantizeLinear", "QLinearConv", "DequantizeLinear"));
  converters::Options symmetric;
  symmetric.symmetric = true;  // code 0 is value 0, so that the codes below it have to be cut
  EXPECT_THAT(operators_of(packed(model, make_feed(model), symmetric)), testing::Contains("Relu"));
}

TEST(OnCodes, WhatHasNoFormStaysBetweenItsQuantizers) {
  const auto model = make_model("agraph (float[1,2,4,4] x) => (float[1,3,4,4] y) {\n y = ConvTranspose (x, w)\n}",
                                {{"w", drawn({2, 3, 1, 1}, 1)}});
  const auto conversion = converted(model, make_feed(model));
  EXPECT_EQ(on_codes(conversion.artifact), conversion.artifact);
}

TEST(PackedWeights, MatMulNBitsComputesWhatTheQuantizersDo) {
  const auto model = make_model("agraph (float[3,50] x) => (float[3,5] y) {\n y = MatMul (x, w)\n}",
                                {{"w", drawn_spread({50, 5}, 1, 1)}}, 21);
  const auto feed = make_feed(model);
  for (const auto type : {DType::uint4, DType::uint8}) {
    converters::Options options;
    options.activation = DType::undefined;
    options.weight = type;
    options.block = 16;
    const auto conversion = converted(model, feed, options);
    const auto packed = packed_weights(conversion.artifact);
    EXPECT_THAT(operators_of(packed), ElementsAre("com.microsoft.MatMulNBits"));
    const auto expected = reference::execute(conversion.artifact, feed[0]);
    const auto actual = reference::execute(packed, feed[0]);
    ASSERT_TRUE(expected && actual) << (actual ? "" : actual.error().message);
    for (std::int64_t i = 0; i < 15; ++i) {
      EXPECT_NEAR(actual->at("y").as_real(i), expected->at("y").as_real(i), 1e-5) << core::dtype_name(type) << i;
    }
    EXPECT_GT(sqnr_of(model, with_plain_weights(conversion.artifact), feed[0]), 15);
  }
}

TEST(PackedWeights, BlocksThatTheOperatorLacksStayBetweenTheirQuantizers) {
  const auto model =
      make_model("agraph (float[3,50] x) => (float[3,5] y) {\n y = MatMul (x, w)\n}", {{"w", drawn({50, 5}, 1)}}, 21);
  converters::Options options;
  options.activation = DType::undefined;
  for (const std::int64_t block : {0, 8, 24}) {
    options.block = block;
    const auto conversion = converted(model, make_feed(model), options);
    EXPECT_EQ(packed_weights(conversion.artifact), conversion.artifact) << block;
  }
}

}  // namespace
}  // namespace assay::embedded
