#include "harness/mutants/artifact_score.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/core/rng.hpp"
#include "harness/mutants/artifact_bench.hpp"
#include "harness/mutants/artifact_mutations.hpp"
#include "harness/mutants/artifact_visibility.hpp"
#include "tests/mutants/small_artifact.hpp"

namespace assay::mutants {
namespace {

using core::DType;
using core::Tensor;
using core::TensorMap;
using judge::Gate;

core::TensorMap some_inputs(std::uint64_t seed) {
  core::Rng rng(seed);
  std::vector<double> values(32);
  for (double& each : values) each = rng.uniform(-3, 3);
  return {{"x", core::rounded_to_type(Tensor(DType::float32, {1, 2, 4, 4}, std::move(values)))}};
}

std::unique_ptr<ArtifactBench> bench_of(model::Model artifact, run::MadeBy made_by = {}) {
  ReadyArtifact ready{data::user_case_of(std::make_shared<const model::Model>(test::small_original()), "small"),
                      std::move(artifact), std::nullopt};
  data::UserData data;
  data.calibration = data.inputs = {some_inputs(1), some_inputs(2)};
  data.calibrated = true;
  ready.user.give(std::move(data));
  converters::Description nobody;
  nobody.name = "artifact";
  auto bench = ArtifactBench::create(std::move(ready), {*reference_in_place_of(nobody)}, std::move(made_by));
  EXPECT_TRUE(bench);
  return *std::move(bench);
}

/// The small artifact with `tensor` as its output.
model::Model ending_at(const std::string& tensor, core::Shape shape) {
  model::Model model = test::small_artifact();
  model::ValueInfo output{tensor, DType::float32, std::vector<model::Dimension>()};
  for (const std::int64_t extent : shape) output.shape->push_back({extent, ""});
  model.graph.outputs = {output};
  return model;
}

double step_of(const std::string& tensor, core::Shape shape) {
  const auto bench = bench_of(ending_at(tensor, std::move(shape)));
  return output_steps(*bench, *bench->plain()).at(tensor);
}

TEST(ArtifactVisibility, TheStepOfAQuantizedOutputIsItsScale) { EXPECT_EQ(step_of("m_dq", {1, 2, 4, 4}), 0.125); }

TEST(ArtifactVisibility, TheStepOfAFloatOutputIsCarriedThrough) {
  EXPECT_DOUBLE_EQ(step_of("k", {1, 2, 4, 4}), 1.5 * 0.125);
  const double softmax = step_of("y", {1, 2, 6, 4});
  EXPECT_GT(softmax, 0);
  EXPECT_LT(softmax, 1.5 * 0.125);
}

std::vector<TensorMap> outputs_of(double value) {
  return {{{"y", Tensor(DType::float32, {2}, std::vector<double>{1, value})}}};
}

TEST(ArtifactVisibility, BeginsAtHalfAStep) {
  const std::map<std::string, double> steps{{"y", 0.5}};
  EXPECT_FALSE(is_visible(outputs_of(2), outputs_of(2), steps));
  EXPECT_FALSE(is_visible(outputs_of(2), outputs_of(2.2), steps));
  EXPECT_TRUE(is_visible(outputs_of(2), outputs_of(2.25), steps));
  EXPECT_TRUE(is_visible(outputs_of(2), outputs_of(1.75), steps));
  EXPECT_TRUE(is_visible(outputs_of(2), outputs_of(std::numeric_limits<double>::quiet_NaN()), steps));
}

TEST(ArtifactVisibility, AnotherShapeOrNameIsVisible) {
  const std::map<std::string, double> steps{{"y", 0.5}};
  const std::vector<TensorMap> shaped{{{"y", Tensor(DType::float32, {1, 2}, std::vector<double>{1, 2})}}};
  const std::vector<TensorMap> named{{{"z", Tensor(DType::float32, {2}, std::vector<double>{1, 2})}}};
  EXPECT_TRUE(is_visible(outputs_of(2), shaped, steps));
  EXPECT_TRUE(is_visible(outputs_of(2), named, steps));
}

TEST(ArtifactVisibility, ADefectThatNothingReadsIsHidden) {
  const auto bench = bench_of(ending_at("l_dq", {1, 2, 4, 4}));
  const std::map<std::string, double> steps = output_steps(*bench, *bench->plain());
  const auto defect_in = [&](const std::string& name) {
    const auto executed = bench->execute(edited(bench->artifact(), {}, [&](model::Graph& graph) {
      graph.initializers[name] = std::make_shared<const Tensor>(Tensor::scalar(DType::float32, 1));
    }));
    EXPECT_TRUE(executed);
    return is_visible(executed->plain->outputs, executed->outputs, steps);
  };
  EXPECT_TRUE(defect_in("l_scale"));
  EXPECT_FALSE(defect_in("m_scale"));  // behind the output
}

TEST(ArtifactBench, WhatNoExecutorRunsIsLeftOut) {
  const auto bench = bench_of(test::small_artifact());
  EXPECT_TRUE(bench->execute(bench->artifact()));
  EXPECT_FALSE(bench->execute(edited(bench->artifact(), {}, [](model::Graph& graph) {
    for (model::Node& node : graph.nodes) {
      if (node.op_type == "Softmax") node.attributes["axis"] = std::int64_t{9};
    }
  })));
}

TEST(ArtifactBench, EveryArtifactIsJudgedAsItsMakersAsInCheck) {
  const auto judged_as = [](run::MadeBy made_by) {
    const auto bench = bench_of(test::small_artifact(), std::move(made_by));
    return bench->execute(bench->artifact())->trial.judged_as;
  };
  EXPECT_EQ(judged_as({}), "");
  EXPECT_THAT(judged_as(run::made_by("nncf_onnx").value()), testing::HasSubstr("judged by the policy of nncf_onnx"));
}

TEST(ArtifactFates, AnUnjudgedOneIsNotCaught) {
  for (const Gate gate : {Gate::red, Gate::amber, Gate::green}) EXPECT_EQ(fate_of("unjudged", gate), Fate::unjudged);
  FateCounts counts;
  ++counts.counts[fate_of("unjudged", Gate::red)];
  EXPECT_EQ(counts.of(Fate::red), 0U);
  EXPECT_EQ(counts.visible(), 1U);
}

TEST(ArtifactFates, FollowVerdictAndGate) {
  EXPECT_EQ(fate_of("fail", Gate::red), Fate::red);
  EXPECT_EQ(fate_of("crash", Gate::red), Fate::red);
  EXPECT_EQ(fate_of("not-quantized", Gate::red), Fate::red);
  EXPECT_EQ(fate_of("not-quantized", Gate::amber), Fate::passed);
  EXPECT_EQ(fate_of("pass", Gate::green), Fate::passed);
  EXPECT_EQ(fate_of("pass", Gate::amber), Fate::passed);
  EXPECT_EQ(fate_of("mistrusted", Gate::red), Fate::passed) << "that the data prove nothing catches nothing";
  EXPECT_EQ(fate_of("harness-error", Gate::red), Fate::failed);
  EXPECT_EQ(fate_of("unsupported", Gate::neutral), Fate::failed);
}

TEST(ArtifactFates, OnlyWhatIsVisibleIsCountedAsSuch) {
  FateCounts counts;
  for (const Fate fate : {Fate::not_run, Fate::hidden, Fate::red, Fate::passed, Fate::failed}) ++counts.counts[fate];
  EXPECT_EQ(counts.tried(), 5U);
  EXPECT_EQ(counts.visible(), 3U);
}

TEST(ArtifactFates, WhatEscapesAtANodeThatCountsAsJudgedIsTheJudgesError) {
  judge::Coverage coverage;
  coverage.applies = true;
  coverage.nodes = {{"conv", "Conv", "L2", ""}, {"norm", "LayerNormalization", "", "nobody looked"}};
  EXPECT_TRUE(is_covered(coverage, "conv", "Conv"));
  EXPECT_FALSE(is_covered(coverage, "norm", "LayerNormalization"));
  EXPECT_FALSE(is_covered(coverage, "x_quantizer", "QuantizeLinear")) << "it may stand before any of them";
  EXPECT_FALSE(is_covered(coverage, "conv", "DequantizeLinear"));
  coverage.nodes.pop_back();
  EXPECT_TRUE(is_covered(coverage, "x_quantizer", "QuantizeLinear"));
  coverage.outputs["y"] = 0;
  EXPECT_FALSE(is_covered(coverage, "x_quantizer", "QuantizeLinear"));
  EXPECT_TRUE(is_covered(coverage, "conv", "Conv"));
  coverage.outputs["y"] = 1;
  EXPECT_TRUE(is_covered(coverage, "", "Conv"));
  EXPECT_FALSE(is_covered({}, "conv", "Conv"));

  ArtifactScoreReport report;
  for (const Fate fate : {Fate::red, Fate::hidden, Fate::unjudged, Fate::passed}) {
    for (const bool covered : {false, true}) {
      Escape escape;
      escape.fate = fate;
      escape.covered = covered;
      report.escapes.push_back(std::move(escape));
    }
  }
  EXPECT_EQ(report.overclaimed(), 2U);
}

TEST(Falsified, ShowsBelowThePredictionByItsLimit) {
  EXPECT_FALSE(shows({30, 29.5, 30, 0.5}));
  EXPECT_TRUE(shows({30, 29.4, 30, 0.5}));
  // What the plain artifact lies below the prediction by itself is none of the falsification's.
  EXPECT_FALSE(shows({28, 27.9, 30, 0.5}));
  EXPECT_TRUE(shows({28, 27.4, 30, 0.5}));
  EXPECT_FALSE(shows({30, std::nullopt, 30, 0.5})) << "no signal";
}

TEST(Falsified, ShowsWithoutAPredictionWhereMuchIsLost) {
  EXPECT_FALSE(shows({22, 19.5, std::nullopt, 0}));
  EXPECT_FALSE(shows({40, 21, std::nullopt, 0}));
  EXPECT_TRUE(shows({22, 18, std::nullopt, 0}));
  EXPECT_TRUE(shows({std::nullopt, 18, std::nullopt, 0})) << "the plain one has no error";
}

}  // namespace
}  // namespace assay::mutants
