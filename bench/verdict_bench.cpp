// Whole verdicts on real models: conversion over protocol 1, execution in integers, reference, judging, recording.
// bench/compare_onnxruntime.py sets these figures beside the Python flow on the same models and data.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "converters/protocol/client.hpp"
#include "harness/core/files.hpp"
#include "harness/core/memory.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/data/user_case.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/runner.hpp"

namespace {

using namespace assay;
namespace fs = std::filesystem;

void judge_model(benchmark::State& state, const fs::path& model) {
  const std::string stem = (model.parent_path() / model.stem()).string();
  const auto user = data::make_user_case(model, stem + ".calibration.npz", "");
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

/// `copies` of the model under the option sets of suite `default`.
run::RunConfig run_of(const data::UserCase& user, const std::vector<corpus::OptionSet>& sets,
                      const std::vector<programs::ConverterSpec>& converters, int copies) {
  run::RunConfig config;
  config.converters = converters;
  for (int copy = 0; copy < copies; ++copy) {
    config.items.push_back({user.test_case, sets, user.data});
    config.items.back().test_case.name += fmt::format("#{}", copy);
  }
  return config;
}

/// Verdicts as `assay run` gives them: a worker a core, everything recorded. A run is long enough for the start of its
/// workers to weigh little: some two seconds.
void run_model(benchmark::State& state, const fs::path& model) {
  const std::string stem = (model.parent_path() / model.stem()).string();
  const auto user = data::make_user_case(model, stem + ".calibration.npz", "");
  const auto suite = corpus::load_suite("default");
  const auto converters = programs::parse_converter("embedded", ASSAY_PROGRAM, {}, "");
  const auto folder = core::TemporaryFolder::create();
  if (!user || !suite || !converters || !folder) {
    state.SkipWithError("the model, the suite, the converter or a folder can't be had");
    return;
  }
  std::size_t verdicts = 0, passed = 0;
  int number = 0;
  const auto run = [&](int copies) {
    run::RunConfig config = run_of(*user, suite->option_sets, *converters, copies);
    config.database = folder->path() / fmt::format("{}.db", number++);
    const auto begin = std::chrono::steady_clock::now();
    const auto report = run::run(config);
    if (report) {
      verdicts += report->rows.size();
      passed += report->counts()["pass"];
    } else {
      state.SkipWithError(report.error().message.c_str());
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  constexpr int kFirst = 8, kMost = 400;
  constexpr double kSeconds = 2;
  const int copies = std::clamp(static_cast<int>(kFirst * kSeconds / run(kFirst)), kFirst, kMost);
  verdicts = passed = 0;
  for (auto _ : state) {
    run(copies);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(verdicts));
  state.SetLabel(fmt::format("{} of {} pass", passed, verdicts));
}

/// The time of judge() (the reference's runs included) divided by that of the conversions with all executions, over all
/// option sets; nothing where no option set gets as far.
std::optional<double> judging_share(const corpus::Case& test_case, const corpus::Suite& suite,
                                    converters::Converter& client, const converters::Description& description,
                                    std::size_t planned) {
  const auto seconds = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto bench = run::CaseBench::create(test_case);
  if (!bench) return std::nullopt;
  double running = 0, judging = 0;
  for (const corpus::OptionSet& set : suite.option_sets) {
    const double begin = seconds();
    run::Trial trial = (*bench)->attempt(client, description, set.options_json);
    (*bench)->relate(client, trial);
    const double ran = seconds();
    if (trial.settled || trial.evidence.executions.empty()) continue;
    benchmark::DoNotOptimize((*bench)->judge(std::move(trial), planned));
    running += ran - begin;
    judging += seconds() - ran;
  }
  return running > 0 ? std::optional(judging / running) : std::nullopt;
}

/// What judging a case costs beside running it, over suite `default`: each case's median of three turns.
void judge_beside_run(benchmark::State& state) {
  const auto suite = corpus::load_suite("default");
  const auto corpus = corpus::load_corpus();
  const auto cases = suite && corpus ? corpus::select_cases(*suite, *corpus) : core::Error{};
  protocol::ClientOptions options;
  options.command = {ASSAY_PROGRAM, "worker"};
  const auto client = protocol::make_client(options);
  const auto description = client->describe();
  if (!cases || !description) {
    state.SkipWithError("the suite or the converter can't be had");
    return;
  }
  std::vector<std::pair<double, std::string>> ratios;
  for (auto _ : state) {
    for (const corpus::Case& test_case : *cases) {
      std::vector<double> turns;
      for (int turn = 0; turn < 3; ++turn) {
        const auto share = judging_share(test_case, *suite, *client, *description, cases->size());
        if (share) turns.push_back(*share);
      }
      if (turns.empty()) continue;
      std::ranges::sort(turns);
      ratios.emplace_back(turns[turns.size() / 2], test_case.name);
    }
  }
  std::ranges::sort(ratios);
  const auto count = static_cast<double>(ratios.size());
  const auto at = [&](double share) { return ratios[static_cast<std::size_t>(share * (count - 1))]; };
  const auto above = std::ranges::find_if(ratios, [](const auto& each) { return each.first >= 3; });
  state.counters["median"] = at(0.5).first;
  state.counters["p95"] = at(0.95).first;
  state.counters["most"] = at(1).first;
  state.counters["below_3"] = static_cast<double>(above - ratios.begin()) / count;
  state.SetLabel("most: " + at(1).second);
}
BENCHMARK(judge_beside_run)->Unit(benchmark::kMillisecond)->UseRealTime();

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
