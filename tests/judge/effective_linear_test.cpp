#include "harness/judge/alignment/effective_linear.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::parse;
using testing::reals;
using testing::Tensor;

/// The effective form of the artifact's first linear node; the artifact's weight codes have the right shape only.
std::optional<EffectiveLinear> effective(const std::string& original_text, const std::map<std::string, Tensor>& weights,
                                         const std::string& artifact_text, std::map<std::string, Tensor> constants) {
  const model::Model original = parse(original_text, weights);
  constants.insert({{"s", Tensor::scalar(DType::float32, 1)}, {"z", codes(DType::int8, {}, {0})}});
  const auto artifact = std::make_shared<const model::Model>(parse(artifact_text, constants));
  auto view = ArtifactView::build(artifact, original);
  if (!view) throw std::runtime_error(view.error().message);
  Evidence evidence;
  evidence.model = &original;
  const LayerContext context{evidence, &*view, align(evidence, &*view), {}, nullptr, {}, 1};
  for (const ArtifactNode& node : view->nodes()) {
    if (auto linear = effective_linear(context, node)) return linear;
  }
  return std::nullopt;
}

const std::map<std::string, Tensor> kNormalized{{"w", reals({2, 1, 1, 1}, {3, 8})}, {"b", reals({2}, {1, 2})},
                                                {"gamma", reals({2}, {2, -1})},     {"beta", reals({2}, {0.5, 0.25})},
                                                {"mean", reals({2}, {1, -2})},      {"variance", reals({2}, {4, 1})}};
const std::string kConvArtifact =
    "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
    " wd = DequantizeLinear(wq, s, z) c = Conv(xd, wd) yq = QuantizeLinear(c, s, z) y = DequantizeLinear(yq, s, z) }";

TEST(EffectiveLinear, FoldsABatchNormalizationThatVanished) {
  const auto linear = effective(
      "g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w, b)"
      " y = BatchNormalization<epsilon=0.0>(c, gamma, beta, mean, variance) }",
      kNormalized, kConvArtifact, {{"wq", codes(DType::int8, {2, 1, 1, 1}, {0, 0})}});
  ASSERT_TRUE(linear);
  EXPECT_TRUE(linear->folded);
  EXPECT_THAT(linear->weight.to_reals(), ElementsAre(DoubleEq(3), DoubleEq(-8)));  // factors 2/2 and -1/1
  EXPECT_THAT(linear->bias, ElementsAre(DoubleEq(0.5), DoubleEq(-3.75)));          // (1-1)·1+0.5, (2+2)·(-1)+0.25
  EXPECT_GT(linear->bias_slack[0], 0);
}

TEST(EffectiveLinear, LeavesABatchNormalizationThatStays) {
  const auto linear = effective(
      "g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w, b)"
      " y = BatchNormalization<epsilon=0.0>(c, gamma, beta, mean, variance) }",
      kNormalized,
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = Conv(xd, wd) y = BatchNormalization(c, g, g, g, g) }",
      {{"wq", codes(DType::int8, {2, 1, 1, 1}, {0, 0})}, {"g", reals({2}, {1, 1})}});
  ASSERT_TRUE(linear);
  EXPECT_FALSE(linear->folded);
  EXPECT_THAT(linear->weight.to_reals(), ElementsAre(3, 8));
  EXPECT_THAT(linear->bias, ElementsAre(1, 2));
}

TEST(EffectiveLinear, GroupsOfADeconvolutionShareTheirScales) {
  // Two groups of one input and two output channels: BatchNormalization's four factors fall on w[g, c].
  const auto linear = effective(
      "g (float[1,2,2,2] x) => (float[1,4,2,2] y) { c = ConvTranspose<group=2>(x, w)"
      " y = BatchNormalization<epsilon=0.0>(c, gamma, zero, zero, one) }",
      {{"w", reals({2, 2, 1, 1}, {1, 1, 1, 1})},
       {"gamma", reals({4}, {1, 2, 3, 4})},
       {"zero", reals({4}, {0, 0, 0, 0})},
       {"one", reals({4}, {1, 1, 1, 1})}},
      "a (float[1,2,2,2] x) => (float[1,4,2,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = ConvTranspose<group=2>(xd, wd)"
      " yq = QuantizeLinear(c, s, z) y = DequantizeLinear(yq, s, z) }",
      {{"wq", codes(DType::int8, {2, 2, 1, 1}, {0, 0, 0, 0})}});
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->axis, 1);
  EXPECT_EQ(linear->channels, 4);
  EXPECT_THAT(linear->weight.to_reals(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(linear->scale_of(0), 0U);
  EXPECT_EQ(linear->scale_of(1), 1U);
  EXPECT_EQ(linear->scale_of(2), 0U);
}

TEST(EffectiveLinear, AnAddAfterMatMulIsItsBiasWhereItVanished) {
  const std::map<std::string, Tensor> weights{{"w", reals({3, 2}, {1, 2, 3, 4, 5, 6})}, {"b", reals({2}, {7, 8})}};
  const auto linear =
      effective("g (float[1,3] x) => (float[1,2] y) { m = MatMul(x, w) y = Add(b, m) }", weights,
                "a (float[1,3] x) => (float[1,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
                " wd = DequantizeLinear(wq, s, z) c = Gemm(xd, wd, b) yq = QuantizeLinear(c, s, z) y = "
                "DequantizeLinear(yq, s, z) }",
                {{"wq", codes(DType::int8, {3, 2}, {0, 0, 0, 0, 0, 0})}, {"b", reals({2}, {7, 8})}});
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->axis, 1);
  EXPECT_THAT(linear->bias, ElementsAre(7, 8));
}

TEST(EffectiveLinear, AnotherTransposeOfGemmIsTheSameWeight) {
  const auto linear = effective(
      "g (float[1,3] x) => (float[1,2] y) { y = Gemm<transB=1>(x, w) }", {{"w", reals({2, 3}, {1, 2, 3, 4, 5, 6})}},
      "a (float[1,3] x) => (float[1,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = Gemm(xd, wd) yq = QuantizeLinear(c, s, z) y = DequantizeLinear(yq, s, z) }",
      {{"wq", codes(DType::int8, {3, 2}, {0, 0, 0, 0, 0, 0})}});
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->axis, 1);
  EXPECT_THAT(linear->weight.to_reals(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(EffectiveLinear, AWeightOnTheLeftHasItsRowsAsOutputs) {
  const auto linear = effective(
      "g (float[3,2] x) => (float[4,2] y) { y = MatMul(w, x) }", {{"w", reals({4, 3}, std::vector<double>(12, 1))}},
      "a (float[3,2] x) => (float[4,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = MatMul(wd, xd) yq = QuantizeLinear(c, s, z) y = DequantizeLinear(yq, s, z) "
      "}",
      {{"wq", codes(DType::int8, {4, 3}, std::vector<std::int64_t>(12, 0))}});
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->operand, 0U);
  EXPECT_EQ(linear->axis, 0);
  EXPECT_EQ(linear->channels, 4);
}

TEST(EffectiveLinear, TwoActivationsHaveNoWeight) {
  EXPECT_FALSE(effective("g (float[2,2] a, float[2,2] b) => (float[2,2] y) { y = MatMul(a, b) }", {},
                         "a (float[2,2] a, float[2,2] b) => (float[2,2] y) { aq = QuantizeLinear(a, s, z)"
                         " ad = DequantizeLinear(aq, s, z) bq = QuantizeLinear(b, s, z) bd = DequantizeLinear(bq, s, z)"
                         " c = MatMul(ad, bd) yq = QuantizeLinear(c, s, z) y = DequantizeLinear(yq, s, z) }",
                         {}));
}

}  // namespace
}  // namespace assay::judge
