#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/core/rng.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/reference_cache.hpp"
#include "harness/model/numpy_io.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

/// What one build of TensorRT 8.6.1 gave for one model (tests/data/trt861/results.jsonl).
struct Build {
  std::string model, route;
  double sqnr_db = 0;
  std::int64_t int8_layers = 0;
};

/// Every build that was asked for INT8 and ran.
std::vector<Build> int8_builds() {
  std::vector<Build> builds;
  std::ifstream lines(test::test_data() / "trt861" / "results.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    const std::string route = row["route"];
    if (route != "int8" && route != "int8_force") continue;
    for (const auto& result : row["results"]) {
      builds.push_back({row["case"], route, result["sqnr_db"], result["layers_int8"]});
    }
  }
  return builds;
}

/// The axis of an npz is the batch index; a batch binds every input.
std::vector<core::TensorMap> batches_of(const model::Model& original, const core::TensorMap& arrays) {
  std::vector<core::TensorMap> batches;
  for (const model::ValueInfo& input : original.graph.inputs) {
    const Tensor& all = arrays.at(input.name);
    core::Shape shape(all.shape().begin() + 1, all.shape().end());
    const auto count = static_cast<std::size_t>(all.shape()[0]);
    const auto size = static_cast<std::size_t>(core::element_count(shape));
    batches.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto values = all.reals().subspan(i * size, size);
      batches[i].emplace(input.name, Tensor(all.type(), shape, std::vector<double>(values.begin(), values.end())));
    }
  }
  return batches;
}

/// Judges outputs that lie at the build's SQNR from the float64 reference, by outputs alone: TensorRT tells neither
/// precision nor scales.
Judgement judge_build(const Build& build, const std::string& demand) {
  const auto folder = test::test_data() / "trt861";
  const auto loaded = model::load_model(folder / (build.model + ".onnx"));
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  const model::Model& original = *loaded;
  const auto batches = batches_of(original, model::load_npz(folder / (build.model + ".calibration.npz")).value());
  const core::TensorMap test = model::load_npz(folder / (build.model + ".test.npz")).value();

  corpus::Case test_case;
  test_case.name = build.model;
  test_case.expect.status = "converts";
  Evidence evidence;
  evidence.test_case = &test_case;
  evidence.model = &original;
  evidence.calibration = &batches;
  evidence.options.symmetric = true;
  evidence.options.method = converters::Method::entropy;
  for (const char* op : {"Conv", "ConvTranspose", "Gemm", "MatMul"}) evidence.options.precision[op] = demand;
  evidence.converter.name = "tensorrt";
  evidence.converter.supports.artifact = converters::ArtifactKind::opaque;
  evidence.conversion.outcome = converters::Outcome::ok;

  Execution execution;
  execution.data_set = "typical";
  execution.reply.outcome = converters::Outcome::ok;
  execution.inputs = batches_of(original, test).front();
  core::Rng rng(static_cast<std::uint64_t>(build.sqnr_db * 10));
  const auto executed = reference::execute(original, execution.inputs);
  if (!executed) {
    ADD_FAILURE() << build.model << ": " << executed.error().message;
    return {};
  }
  const core::TensorMap& exact = *executed;
  for (const auto& [name, output] : exact) {
    double power = 0;
    for (const double value : output.reals()) power += value * value;
    const double deviation = std::sqrt(power / static_cast<double>(output.size()) / std::pow(10, build.sqnr_db / 10));
    Tensor actual = output;
    for (double& value : actual.reals()) value += deviation * rng.normal();
    execution.outputs.emplace(name, std::move(actual));
  }
  evidence.executions.push_back(std::move(execution));
  ReferenceCache cache;
  return judge(evidence, cache, 1000);
}

double noise_ratio_of(const Judgement& judgement) {
  for (const Metric& metric : judgement.metrics) {
    if (metric.name == "noise_ratio") return metric.value;
  }
  return std::nan("");
}

TEST(NotQuantized, FloatFallbackOfTensorrtIsNamedFromItsOutputsAlone) {
  int fallbacks = 0;
  for (const Build& build : int8_builds()) {
    if (build.int8_layers > 0) continue;
    ++fallbacks;
    const Judgement allowed = judge_build(build, "int8?");
    EXPECT_EQ(allowed.verdict, Verdict::not_quantized) << build.model << ": " << allowed.reason;
    EXPECT_EQ(allowed.gate, Gate::amber) << build.model << ": INT8 was only allowed";
    const Judgement required = judge_build(build, "int8");
    EXPECT_EQ(required.verdict, Verdict::not_quantized) << build.model << ": " << required.reason;
    EXPECT_EQ(required.gate, Gate::red) << build.model;
    EXPECT_EQ(required.facet, Facet::precision);
    std::printf("  %-22s %6.1f dB: R %.2g\n", build.model.c_str(), build.sqnr_db, noise_ratio_of(required));
  }
  EXPECT_GE(fallbacks, 8);
}

TEST(NotQuantized, EnginesThatRanInInt8AreNot) {
  int engines = 0;
  for (const Build& build : int8_builds()) {
    if (build.int8_layers == 0) continue;
    ++engines;
    const Judgement out = judge_build(build, "int8");
    EXPECT_NE(out.verdict, Verdict::not_quantized) << build.model << ": " << out.reason;
    std::printf("  %-22s %6.1f dB: R %.2g\n", build.model.c_str(), build.sqnr_db, noise_ratio_of(out));
  }
  EXPECT_GE(engines, 7);
}

}  // namespace
}  // namespace assay::judge
