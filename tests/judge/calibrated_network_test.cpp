#include "harness/judge/alignment/calibrated_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/judge.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using converters::CalibratedNetwork;
using core::DType;
using testing::codes;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::float32;
using testing::GemmCase;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::parse;
using testing::reals;
using testing::Tensor;

model::Model network_of(const std::string& original_text, const std::map<std::string, Tensor>& weights,
                        const std::string& artifact_text, const std::map<std::string, Tensor>& constants,
                        CalibratedNetwork calibrates = CalibratedNetwork::quantized_weights,
                        converters::Policy policy = {}) {
  policy.calibrates = calibrates;
  const model::Model original = parse(original_text, weights);
  const auto artifact = std::make_shared<const model::Model>(parse(artifact_text, constants));
  const auto view = ArtifactView::build(artifact, original);
  if (!view) throw std::runtime_error(view.error().message);
  return calibrated_network(Alignment::of(original, &*view), policy);
}

std::vector<double> values(const model::Model& network, std::size_t node, std::size_t input) {
  return network.graph.initializer(network.graph.nodes[node].input(input))->to_reals();
}

TEST(CalibratedNetwork, WeightsStandOnTheirCodesAndBiasesStayReal) {
  GemmCase gemm;
  const model::Model network = network_of(gemm.original_text, gemm.weights, gemm.artifact_text, gemm.constants);
  const double first = float32(4.0 / 127), second = float32(0.5 / 127);
  EXPECT_THAT(values(network, 0, 1), ElementsAre(float32(32 * first), float32(64 * first), float32(-127 * first),
                                                 float32(127 * second), float32(-64 * second), float32(32 * second)));
  EXPECT_THAT(values(network, 0, 2), ElementsAre(0.5, -1)) << "not 1012 steps of s_x·s_w";
}

TEST(CalibratedNetwork, AFoldedBatchNormalizationIsInTheWeight) {
  // 2/√4 · 3 = 3 and −1/√1 · 8 = −8 on steps of 0.125 are 24 and −64; the artifact has one step more of each.
  const model::Model network = network_of(
      "g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w, b)"
      " y = BatchNormalization<epsilon=0.0>(c, gamma, beta, mean, variance) }",
      {{"w", reals({2, 1, 1, 1}, {3, 8})},
       {"b", reals({2}, {1, 2})},
       {"gamma", reals({2}, {2, -1})},
       {"beta", reals({2}, {0.5, 0.25})},
       {"mean", reals({2}, {1, -2})},
       {"variance", reals({2}, {4, 1})}},
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = Conv(xd, wd, bf) yq = QuantizeLinear(c, s, z)"
      " y = DequantizeLinear(yq, s, z) }",
      {{"s", Tensor::scalar(DType::float32, 0.125)},
       {"z", codes(DType::int8, {}, {0})},
       {"wq", codes(DType::int8, {2, 1, 1, 1}, {25, -65})},
       {"bf", reals({2}, {0.5, -3.75})}});
  ASSERT_EQ(network.graph.nodes.size(), 1U);
  EXPECT_EQ(network.graph.nodes[0].outputs.front(), "y");
  EXPECT_THAT(values(network, 0, 1), ElementsAre(3.125, -8.125));
  EXPECT_THAT(values(network, 0, 2), ElementsAre(DoubleEq(0.5), DoubleEq(-3.75)));
}

TEST(CalibratedNetwork, AlphaCountsOnceAndAnotherLayoutIsLeftAlone) {
  const std::map<std::string, Tensor> weights{{"w", reals({2, 2}, {1, 2, 3, 4})}};
  const std::string original = "g (float[1,2] x) => (float[1,2] y) { y = Gemm<alpha=0.5>(x, w) }";
  const auto artifact = [](const std::string& attributes) {
    return "a (float[1,2] x) => (float[1,2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
           " wd = DequantizeLinear(wq, s, z) g = Gemm<" +
           attributes + ">(xd, wd) yq = QuantizeLinear(g, s, z) y = DequantizeLinear(yq, s, z) }";
  };
  const std::map<std::string, Tensor> constants{{"s", Tensor::scalar(DType::float32, 0.25)},
                                                {"z", codes(DType::int8, {}, {0})},
                                                {"wq", codes(DType::int8, {2, 2}, {4, 8, 12, 17})}};
  EXPECT_THAT(values(network_of(original, weights, artifact("alpha=0.5"), constants), 0, 1),
              ElementsAre(0.5, 1, 1.5, 2.125));
  EXPECT_THAT(values(network_of(original, weights, artifact("alpha=1.0"), constants), 0, 1), ElementsAre(1, 2, 3, 4.25))
      << "an artifact that lost alpha is run as it is";
  EXPECT_THAT(values(network_of(original, weights, artifact("alpha=0.5, transB=1"), constants), 0, 1),
              ElementsAre(0.5, 1, 1.5, 2));
}

TEST(CalibratedNetwork, OtherConstantsStandOnTheCodesOfTheirOwnRange) {
  converters::Policy policy;
  policy.divisor = 127.5;
  const auto addend = [&](CalibratedNetwork calibrates) {
    return values(
        network_of("g (float[2] x) => (float[2] y) { y = Add(x, k) }", {{"k", reals({2}, {0.3, -0.7})}},
                   "a (float[2] x) => (float[2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
                   " kd = DequantizeLinear(kq, s, z) g = Add(xd, kd) yq = QuantizeLinear(g, s, z)"
                   " y = DequantizeLinear(yq, s, z) }",
                   {{"s", Tensor::scalar(DType::float32, 0.25)},
                    {"z", codes(DType::int8, {}, {0})},
                    {"kq", codes(DType::int8, {2}, {1, -3})}},
                   calibrates, policy),
        0, 1);
  };
  EXPECT_THAT(addend(CalibratedNetwork::quantized_weights), ElementsAre(DoubleEq(0.3), DoubleEq(-0.7)));
  // 0.25 is the step to which the operands were aligned, after the ranges were measured. The least value lies on a tie.
  const double own = float32(0.7 / 127.5);
  EXPECT_THAT(addend(CalibratedNetwork::quantized_constants), ElementsAre(float32(55 * own), float32(-128 * own)));
}

TEST(CalibratedNetwork, WhatACastMakesIsMeasured) {
  const model::Model network = network_of(
      "g (float[2] x) => (float[2] y) { k = Cast<to=1>(i) y = Add(x, k) }", {{"i", codes(DType::int64, {2}, {3, -7})}},
      "a (float[2] x) => (float[2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " kd = DequantizeLinear(kq, s, z) g = Add(xd, kd) yq = QuantizeLinear(g, s, z) y = DequantizeLinear(yq, s, z) }",
      {{"s", Tensor::scalar(DType::float32, 0.25)},
       {"z", codes(DType::int8, {}, {0})},
       {"kq", codes(DType::int8, {2}, {12, -28})}},
      CalibratedNetwork::quantized_constants);
  EXPECT_EQ(network.graph.nodes.back().input(1), "k") << "no parameter: its own values";
}

TEST(CalibratedNetwork, AConvTransposeMayComeOutAsAConv) {
  // Two groups of two inputs and one output: [C=4, M/g=1, 1, 2] is [M=2, C/g=2, 1, 2] with every window turned around.
  const model::Model network = network_of(
      "g (float[1,4,1,3] x) => (float[1,2,1,4] y) { y = ConvTranspose<group=2>(x, w) }",
      {{"w", reals({4, 1, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}},
      "a (float[1,4,1,3] x) => (float[1,2,1,4] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
      " wd = DequantizeLinear(wq, s, z) c = Conv<group=2, pads=[0,1,0,1]>(xd, wd) yq = QuantizeLinear(c, s, z)"
      " y = DequantizeLinear(yq, s, z) }",
      {{"s", Tensor::scalar(DType::float32, 0.5)},
       {"z", codes(DType::int8, {}, {0})},
       {"wq", codes(DType::int8, {2, 2, 1, 2}, {4, 2, 8, 6, 12, 10, 16, 15})}});
  EXPECT_THAT(values(network, 0, 1), ElementsAre(1, 2, 3, 4, 5, 6, 7.5, 8));
}

TEST(CalibratedNetwork, EqualNamesOfNodesMixNothingUp) {
  model::Model original = parse("g (float[1,2] x) => (float[1,2] y) { a = Gemm(x, v) y = Gemm(a, w) }",
                                {{"v", reals({2, 2}, {1, 2, 3, 4})}, {"w", reals({2, 2}, {5, 6, 7, 8})}});
  for (model::Node& node : original.graph.nodes) node.name = "same";
  const auto artifact = std::make_shared<const model::Model>(
      parse("a (float[1,2] x) => (float[1,2] y) { vd = DequantizeLinear(vq, s, z) a = Gemm(x, vd)"
            " wd = DequantizeLinear(wq, s, z) y = Gemm(a, wd) }",
            {{"s", Tensor::scalar(DType::float32, 0.5)},
             {"z", codes(DType::int8, {}, {0})},
             {"vq", codes(DType::int8, {2, 2}, {2, 4, 6, 9})},
             {"wq", codes(DType::int8, {2, 2}, {10, 12, 14, 17})}}));
  const auto view = ArtifactView::build(artifact, original);
  ASSERT_TRUE(view.ok());
  const model::Model network = calibrated_network(Alignment::of(original, &*view), {});
  EXPECT_THAT(values(network, 0, 1), ElementsAre(1, 2, 3, 4.5));
  EXPECT_THAT(values(network, 1, 1), ElementsAre(5, 6, 7, 8.5));
}

/// The judge's verdict on the hand-worked Gemm whose output has `scale`, under the policy.
Judgement verdict(CalibratedNetwork calibrates, double scale) {
  GemmCase gemm;
  gemm.evidence.converter.supports.artifact = converters::ArtifactKind::qdq;
  gemm.evidence.converter.policy.calibrates = calibrates;
  gemm.set_scalar("ys", scale);
  gemm.context();
  ReferenceCache fresh;
  return audit(gemm.evidence, fresh, 1000);
}

// Rows of the weight on codes: (32, 64, −127)·4/127 and (127, −64, 32)·0.5/127. x = (−1, 3, 1) and (2, 0, −1) give
// y's extremes 191·4/127 + 0.5 and −287·0.5/127 − 1; the float network's are 6.5 and −2.125.
TEST(CalibratedNetwork, RangesAreThoseOfTheStatedNetwork) {
  const double on_codes = ((191 * 4 + 287 * 0.5) / 127 + 1.5) / 255, plain = 8.625 / 255;
  EXPECT_THAT(verdict(CalibratedNetwork::float_network, plain).findings, IsEmpty());
  EXPECT_THAT(verdict(CalibratedNetwork::quantized_weights, on_codes).findings, IsEmpty());
  for (const auto& [calibrates, scale] : {std::pair(CalibratedNetwork::float_network, on_codes),
                                          std::pair(CalibratedNetwork::quantized_weights, plain)}) {
    const Judgement out = verdict(calibrates, scale);
    EXPECT_EQ(out.verdict, Verdict::fail) << core::word_of(calibrates);
    EXPECT_EQ(out.facet, Facet::scale);
    EXPECT_THAT(out.reason, HasSubstr("tensor \"y\": expected scale"));
  }
}

// A weight that isn't what it should be moves the range that is demanded, and is a finding of its own.
TEST(CalibratedNetwork, AWrongWeightDoesNotHideBehindItsRange) {
  GemmCase gemm;
  gemm.evidence.converter.policy.calibrates = CalibratedNetwork::quantized_weights;
  gemm.constants["wq"] = codes(DType::int8, {2, 3}, {32, 64, -127, 127, -64, 35});
  gemm.context();
  ReferenceCache fresh;
  const Judgement out = audit(gemm.evidence, fresh, 1000);
  EXPECT_TRUE(std::ranges::any_of(out.findings, [](const Finding& f) { return f.facet == Facet::weight; }));
}

}  // namespace
}  // namespace assay::judge
