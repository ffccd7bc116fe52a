// Whole verdicts on real models: conversion over protocol 1, execution in integers, reference, judging, recording.
// bench/compare_onnxruntime.py sets these figures beside the Python flow on the same models and data.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "converters/protocol/client.hpp"
#include "harness/core/files.hpp"
#include "harness/core/memory.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/run/converter_spec.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/user_case.hpp"

namespace {

using namespace assay;
namespace fs = std::filesystem;

void judge_model(benchmark::State& state, const fs::path& model) {
  const std::string stem = (model.parent_path() / model.stem()).string();
  const auto user = run::make_user_case(model, stem + ".calibration.npz", "");
  if (!user) {
    state.SkipWithError(user.error().message.c_str());
    return;
  }
  protocol::ClientOptions options;
  options.command = {ASSAY_PROGRAM, "worker"};
  const auto client = protocol::make_client(options);
  const auto description = client->describe();
  if (!description) {
    state.SkipWithError(description.error().message.c_str());
    return;
  }
  for (auto _ : state) {
    auto bench = run::CaseBench::create(user->test_case, user->data);
    if (!bench) {
      state.SkipWithError(bench.error().message.c_str());
      return;
    }
    const run::Evaluation evaluation = (*bench)->evaluate(*client, *description, "{}", 1);
    state.SetLabel(std::string(judge::verdict_name(evaluation.judgement.verdict)));
  }
}

const bool kRegistered = [] {
  core::keep_freed_memory();  // as the program does
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(ASSAY_TEST_DATA) / "trt861")) {
    const fs::path& file = entry.path();
    // The Q/DQ models are no input of the Python flow, which quantizes float models.
    if (file.extension() == ".onnx" && !file.stem().string().starts_with("qdq_")) {
      benchmark::RegisterBenchmark(("verdict/" + file.stem().string()).c_str(), judge_model, file)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
      benchmark::RegisterBenchmark(("run/" + file.stem().string()).c_str(), run_model, file)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
