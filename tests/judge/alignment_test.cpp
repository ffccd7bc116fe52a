#include "harness/judge/alignment/alignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::parse;
using testing::reals;
using testing::Tensor;

const std::map<std::string, Tensor> kWeights{{"w", reals({2, 1, 1, 1}, {3, 8})}, {"b", reals({2}, {1, 2})},
                                             {"a", reals({2, 1, 1}, {10, 20})},  {"row", reals({2}, {10, 20})},
                                             {"gamma", reals({2}, {2, -1})},     {"beta", reals({2}, {0.5, 0.25})},
                                             {"mean", reals({2}, {1, -2})},      {"variance", reals({2}, {4, 1})}};

/// An artifact that is a Conv on codes and nothing else.
std::shared_ptr<const model::Model> a_conv() {
  return std::make_shared<const model::Model>(parse(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = Conv(xd, wd) yq = QuantizeLinear(c, s, z) y = DequantizeLinear(yq, s, z) }",
      {{"s", Tensor::scalar(DType::float32, 1)},
       {"z", codes(DType::int8, {}, {0})},
       {"wq", codes(DType::int8, {2, 1, 1, 1}, {0, 0})}}));
}

/// The effective form of `nodes` where the artifact has a Conv on codes and nothing else.
Alignment beside_a_conv(const std::string& nodes) {
  const auto original =
      std::make_shared<model::Model>(parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) {" + nodes + "}", kWeights));
  const auto artifact = a_conv();
  auto view = ArtifactView::build(artifact, *original);
  if (!view) throw std::runtime_error(view.error().message);
  Alignment effective = Alignment::of(*original, &*view);
  effective.original = nullptr;  // they end with this function
  effective.artifact = nullptr;
  return effective;
}

std::vector<double> constant(const Alignment& effective, std::size_t input) {
  return effective.constants.find(effective.operations.at(0).node.input(input))->second->to_reals();
}

TEST(Alignment, WhatIsAddedPerChannelAndVanishedIsPartOfTheConv) {
  for (const char* sum : {" y = Add(c, a)", " y = Add(a, c)"}) {
    const Alignment effective = beside_a_conv(std::string("c = Conv(x, w, b)") + sum);
    ASSERT_EQ(effective.operations.size(), 1U) << sum;
    EXPECT_EQ(effective.operations[0].last, 1U);
    EXPECT_THAT(effective.operations[0].node.outputs, ElementsAre("y"));
    EXPECT_THAT(constant(effective, 2), ElementsAre(11, 22));
  }
  EXPECT_THAT(constant(beside_a_conv("c = Conv(x, w) y = Add(c, a)"), 2), ElementsAre(10, 20));
}

TEST(Alignment, WhatIsMultipliedPerChannelAndVanishedIsPartOfTheConv) {
  for (const char* product : {" y = Mul(c, a)", " y = Mul(a, c)"}) {
    const Alignment effective = beside_a_conv(std::string("c = Conv(x, w, b)") + product);
    ASSERT_EQ(effective.operations.size(), 1U) << product;
    EXPECT_EQ(effective.operations[0].last, 1U);
    EXPECT_THAT(constant(effective, 1), ElementsAre(30, 160));
    EXPECT_THAT(constant(effective, 2), ElementsAre(10, 40));
  }
  EXPECT_THAT(constant(beside_a_conv("c = Conv(x, w, b) m = Mul(c, a) y = Add(m, a)"), 2), ElementsAre(20, 60));
  EXPECT_EQ(beside_a_conv("c = Conv(x, w, b) y = Mul(c, row)").operations.size(), 2U) << "along the width";
  EXPECT_EQ(beside_a_conv("c = Conv(x, w, b) y = Mul(c, c)").operations.size(), 2U);
}

TEST(Alignment, ABatchNormalizationAndAnAddBecomeOneBiasInTheirOrder) {
  const std::string norm = " = BatchNormalization<epsilon=0.0>(", rest = ", gamma, beta, mean, variance)";
  // Factors 2/2 and -1/1; shifts 0.5 - 1·1 and 0.25 - (-2)·(-1).
  const Alignment behind = beside_a_conv("c = Conv(x, w, b) s = Add(c, a) y" + norm + "s" + rest);
  ASSERT_EQ(behind.operations.size(), 1U);
  EXPECT_THAT(constant(behind, 1), ElementsAre(DoubleEq(3), DoubleEq(-8)));
  EXPECT_THAT(constant(behind, 2), ElementsAre(DoubleEq(10.5), DoubleEq(-23.75)));
  const Alignment before = beside_a_conv("c = Conv(x, w, b) s" + norm + "c" + rest + " y = Add(s, a)");
  ASSERT_EQ(before.operations.size(), 1U);
  EXPECT_THAT(constant(before, 2), ElementsAre(DoubleEq(10.5), DoubleEq(16.25)));
}

TEST(Alignment, CopiesThatVanishedHideNothing) {
  const Alignment effective = beside_a_conv(
      "c = Conv(x, w, b) i = Identity(c) s = Add(i, a) d = Dropout(s)"
      " y = BatchNormalization<epsilon=0.0>(d, gamma, beta, mean, variance)");
  ASSERT_EQ(effective.operations.size(), 1U);
  EXPECT_THAT(constant(effective, 2), ElementsAre(DoubleEq(10.5), DoubleEq(-23.75)));
  const Alignment named = beside_a_conv("c = Conv(x, w, b) y = Identity(c) z = Relu(c)");
  ASSERT_EQ(named.operations.size(), 2U);
  EXPECT_THAT(named.operations[0].node.outputs, ElementsAre("y")) << "the Conv makes the output itself";
  EXPECT_THAT(named.operations[1].node.inputs, ElementsAre("y"));
}

TEST(Alignment, ASumAlongAnotherAxisIsNoBias) {
  EXPECT_EQ(beside_a_conv("c = Conv(x, w, b) y = Add(c, row)").operations.size(), 2U);
}

TEST(Alignment, WithoutAnArtifactNobodyKnowsOfASecondBatchNormalization) {
  const model::Model original = parse(
      "g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w, b)"
      " n = BatchNormalization<epsilon=0.0>(c, gamma, beta, mean, variance)"
      " y = BatchNormalization<epsilon=0.0>(n, gamma, beta, mean, variance) }",
      kWeights);
  const Alignment effective = Alignment::of(original, nullptr, [](const model::Node&) { return true; });
  ASSERT_EQ(effective.operations.size(), 2U);
  EXPECT_EQ(effective.operations[0].last, 1U) << "the policy folds the first one";
  EXPECT_TRUE(effective.operations[0].maybe_folded) << "with the second one in it";
  EXPECT_EQ(effective.operations[1].maybe_folded_into, 0U);
  const auto yes = [](const model::Node&) { return true; };
  EXPECT_EQ(Alignment::of(original, nullptr, yes, yes).operations.size(), 1U);
}

TEST(Alignment, WithoutAnArtifactASumBeforeABatchNormalizationMayBeFoldedWithIt) {
  const model::Model original = parse(
      "g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w, b) s = Add(c, a)"
      " y = BatchNormalization<epsilon=0.0>(s, gamma, beta, mean, variance) }",
      kWeights);
  const Alignment effective = Alignment::of(original, nullptr, [](const model::Node&) { return true; });
  ASSERT_EQ(effective.operations.size(), 3U);
  EXPECT_EQ(effective.operations[2].maybe_folded_into, 0U);
  ASSERT_TRUE(effective.operations[0].maybe_folded);
  EXPECT_THAT(effective.operations[0].maybe_folded->weight->to_reals(), ElementsAre(DoubleEq(3), DoubleEq(-8)));
  EXPECT_THAT(effective.operations[0].maybe_folded->bias->to_reals(), ElementsAre(DoubleEq(10.5), DoubleEq(-23.75)));
}

TEST(Alignment, ABatchNormalizationAskedForInFloatIsNotTakenForFolded) {
  testing::GemmCase conv;
  conv.original_text =
      "g (float[1,1,1,2] x) => (float[1,2,1,2] y) { c = Conv(x, w)"
      " y = BatchNormalization(c, gamma, beta, mean, variance) }";
  conv.weights = kWeights;
  conv.batches = {{{"x", reals({1, 1, 1, 2}, {-1, 3})}}};
  conv.evidence.converter.policy.folds_bn = true;
  const auto operations = [&] { return conv.without_artifact().alignment->operations.size(); };
  EXPECT_EQ(operations(), 1U);
  for (const char* key : {"y", "BatchNormalization"}) {
    conv.evidence.options.precision = {{key, "fp32"}};
    EXPECT_EQ(operations(), 2U) << key;
  }
  conv.evidence.options.precision = {{"y", "int8"}};
  EXPECT_EQ(operations(), 1U);
}

TEST(Alignment, AValueThatARemovedActivationLetsThroughPointsToTheOperatorBeforeIt) {
  const auto original = std::make_shared<model::Model>(
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w, b) y = Relu(c) }", kWeights));
  const auto artifact = a_conv();
  const auto view = ArtifactView::build(artifact, *original);
  ASSERT_TRUE(view) << view.error().message;
  const Alignment alignment = Alignment::of(*original, &*view);
  ASSERT_TRUE(alignment.is_gone(1));
  EXPECT_EQ(alignment.answers_for(1, 3.0), 0U) << "a Relu lets 3 through: the Conv made it";
  EXPECT_EQ(alignment.answers_for(1, 0.0), 0U);
  EXPECT_EQ(alignment.answers_for(1, -0.5), 1U) << "a Relu would have cut it off";
  EXPECT_EQ(alignment.answers_for(0, -0.5), 0U);
  const Alignment without = Alignment::of(*original, nullptr);
  EXPECT_EQ(without.answers_for(1, 3.0), 1U) << "without an artifact nobody knows what is gone";
}

}  // namespace
}  // namespace assay::judge
