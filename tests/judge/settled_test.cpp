#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/rng.hpp"
#include "harness/judge/facets/output_grid.hpp"
#include "harness/judge/numerics/given_ties.hpp"
#include "harness/judge/numerics/prediction.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const double kIn = float32(2.0 / 127), kOut = float32(1.0 / 127);

/// y = Tanh(x) between two quantizers, those of `text`, with x's scale `in`.
model::Model tanh_between(const std::string& text, double in = kIn) {
  return parse("g (float[40,50] x) => (float[40,50] y) { " + text + " }", {{"xs", Tensor::scalar(DType::float32, in)},
                                                                           {"ys", Tensor::scalar(DType::float32, kOut)},
                                                                           {"z", codes(DType::int8, {}, {0})}});
}
const std::string kReal = "y = Tanh(x)";
const std::string kOutput = " yq = QuantizeLinear(t, ys, z) y = DequantizeLinear(yq, ys, z)";
const std::string kBetween = "xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) t = Tanh(xd)" + kOutput;
const std::string kInputLeftReal = "t = Tanh(x)" + kOutput;
const std::string kOutputLeftReal = "xq = QuantizeLinear(x, xs, z) xd = DequantizeLinear(xq, xs, z) y = Tanh(xd)";

core::TensorMap some_inputs() {
  core::Rng rng(7);
  std::vector<double> values(2000);
  for (double& value : values) value = float32(rng.uniform(-2, 2));
  return {{"x", reals({40, 50}, values)}};
}

converters::TensorScale scale_of(const std::string& tensor, double scale) {
  return {tensor, {{scale}, {0}, DType::int8, std::nullopt}};
}

/// What an engine that computes `engine` shows of a converter that knows the scales of x and y; they stand in the model
/// itself where that is `engine`'s too.
Judged show(const model::Model& original, const model::Model& engine, const core::TensorMap& inputs) {
  Judged judged(original, engine);
  judged.opaque = true;
  converters::Policy& policy = judged.evidence.converter.policy;
  state_policy(policy);
  policy.outputs = converters::GraphOutputs::quantized;
  judged.add("typical", inputs, reference::execute(engine, inputs).value());
  judged.calibrate();
  return judged;
}
Judged show_scales(const std::string& engine, double in = kIn) {
  Judged judged = show(tanh_between(kReal), tanh_between(engine, in), some_inputs());
  judged.evidence.conversion.tensors = {scale_of("x", kIn), scale_of("y", kOut)};
  judged.audited["x"] = judged.evidence.conversion.tensors[0].params;
  judged.audited["y"] = judged.evidence.conversion.tensors[1].params;
  return judged;
}

TEST(Settled, AnEngineThatUsesTheReportedScalesIsSilent) { EXPECT_THAT(show_scales(kBetween).prediction(), IsEmpty()); }

TEST(Settled, AnotherScaleOrAMissingRoundingShowsThoughTheNoiseIsNoMore) {
  const std::vector<Finding> real = show_scales(kInputLeftReal).prediction();
  ASSERT_THAT(real, SizeIs(1));
  EXPECT_THAT(real[0].message, HasSubstr("dB from the output that the known scales and roundings give"));
  EXPECT_EQ(real[0].tensor, "y");
  EXPECT_THAT(show_scales(kBetween, kIn * 0.97).prediction(), SizeIs(1)) << "a finer scale than the one reported";
}

TEST(Settled, WhatANodeInFloatReadsOfAReportedTensorIsLeftOpen) {
  Judged judged = show_scales(kInputLeftReal);
  judged.evidence.conversion.precision = {{judged.original.graph.nodes[0].name, "Tanh", "fp32"}};
  EXPECT_THAT(judged.prediction(), IsEmpty());
}

TEST(Settled, TheModelsOwnQuantizersLeaveNoChoice) {
  const model::Model given = tanh_between(kBetween);
  EXPECT_THAT(show(given, given, some_inputs()).prediction(), IsEmpty());
  EXPECT_THAT(show(given, tanh_between(kInputLeftReal), some_inputs()).prediction(), SizeIs(1));
}

TEST(Settled, WhereManyElementsLieAtTiesTheRuleOfRoundingDecides) {
  const model::Model given = tanh_between(kBetween);
  std::vector<double> halves(2000);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = float32((static_cast<double>(i % 200) - 99.5) * kIn);
  }
  const core::TensorMap ties{{"x", reals({40, 50}, halves)}};
  EXPECT_EQ(share_of_ties(given.graph, ties), 1);
  EXPECT_LT(share_of_ties(given.graph, some_inputs()), 1e-3);
  EXPECT_THAT(show(given, tanh_between(kInputLeftReal), ties).prediction(), IsEmpty());
}

TEST(Settled, TiesCountAlongTheQuantizersAxis) {
  const model::Model given = parse(
      "g (float[2,2] x) => (float[2,2] y) { q = QuantizeLinear<axis=1>(x, s, z) y = DequantizeLinear<axis=1>(q, s, z) "
      "}",
      {{"s", reals({2}, {1, 4})}, {"z", codes(DType::int8, {2}, {0, 0})}});
  EXPECT_EQ(share_of_ties(given.graph, {{"x", reals({2, 2}, {0.5, 0.5, 2, 2})}}), 0.5);
}

std::vector<Finding> grid(Judged judged) { return check_output_grid(judged.context()); }

TEST(OutputGrid, AnOutputOffTheReportedGridIsNoQuantizersThoughThePolicyPromisesIt) {
  const auto with_map = [](const std::string& engine) {
    Judged judged = show_scales(engine);
    judged.evidence.conversion.precision = {{judged.original.graph.nodes[0].name, "Tanh", "int8"}};
    return judged;
  };
  EXPECT_THAT(grid(with_map(kBetween)), IsEmpty());
  const std::vector<Finding> findings = grid(with_map(kOutputLeftReal));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].facet, Facet::precision);
  EXPECT_THAT(findings[0].message, HasSubstr("steps of the reported scale"));
  Judged silent = with_map(kOutputLeftReal);
  silent.evidence.converter.policy.outputs = converters::GraphOutputs::either;
  EXPECT_THAT(grid(silent), IsEmpty()) << "nothing was promised";
  Judged in_float = with_map(kOutputLeftReal);
  in_float.evidence.conversion.precision[0].got = "fp32";
  EXPECT_THAT(grid(in_float), IsEmpty());
}

TEST(OutputGrid, MoreValuesThanTheTypeHasAreNoQuantizers) {
  const auto asked = [](const std::string& engine) {
    Judged judged = show(tanh_between(kReal), tanh_between(engine), some_inputs());
    judged.test_case.expect.precision = {{"Tanh", "int8"}};
    return judged;
  };
  EXPECT_THAT(grid(asked(kBetween)), IsEmpty());
  const std::vector<Finding> findings = grid(asked(kReal));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].message, HasSubstr("more than the 256 of int8"));
}

}  // namespace
}  // namespace assay::judge::testing
