#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "harness/conformance/conform.hpp"
#include "harness/core/text.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/expected.hpp"
#include "harness/run/parallel.hpp"
#include "harness/run/result_row.hpp"
#include "harness/run/subject.hpp"
#include "harness/run/table_scales.hpp"
#include "harness/run/workers.hpp"

namespace assay::run {
namespace {

using judge::Gate;
using judge::Verdict;
using results::JobKey;
using results::ResultRow;

/// Every verdict that a run is to make.
struct Plan {
  std::vector<JobKey> jobs;       ///< in order: case, converter, option set
  std::vector<JobKey> available;  ///< those of converters that can run here
  std::map<JobKey, std::size_t> index;
};

Plan make_plan(const RunConfig& config, const std::vector<Subject>& subjects) {
  Plan plan;
  for (const RunItem& item : config.items) {
    for (const Subject& subject : subjects) {
      if (!subject.runs(item.test_case)) {
        continue;
      }
      for (const corpus::OptionSet& set : item.option_sets) {
        JobKey key{item.test_case.name, set.label, subject.description.name, subject.description.version};
        if (plan.index.emplace(key, plan.jobs.size()).second) {
          if (subject.unavailable().empty()) {
            plan.available.push_back(key);
          }
          plan.jobs.push_back(std::move(key));
        }
      }
    }
  }
  return plan;
}

ClientLimits limits(const RunConfig& config) { return {config.timeout_s, config.memory_limit_bytes}; }

judge::Judgement plain_judgement(Verdict verdict, std::string reason) {
  judge::Judgement judgement;
  judgement.verdict = verdict;
  judgement.gate = judge::default_gate(verdict);
  judgement.stage = judge::Stage::convert;
  judgement.reason = std::move(reason);
  return judgement;
}

/// The shared state of a run's threads; everything behind one lock, which is held for microseconds.
class Recorder {
 public:
  Recorder(const RunConfig& config, results::Store& store, std::string run, const Plan& plan,
           ExpectedFailures& expected)
      : config_(config),
        store_(store),
        run_(std::move(run)),
        plan_(plan),
        expected_(expected),
        rows_(plan.jobs.size()) {}

  void keep(ResultRow row) {
    const std::size_t index = plan_.index.find(row.key)->second;
    rows_[index] = std::move(row);
    ++done_;
  }
  /// A verdict that is in the database already.
  void recall(ResultRow row) {
    expected_.recall(row.key, row.verdict);
    keep(std::move(row));
  }
  [[nodiscard]] bool has(const JobKey& key) const { return rows_[plan_.index.find(key)->second].has_value(); }

  void start(const JobKey& key) {
    const std::lock_guard lock(mutex_);
    note(store_.job_started(run_, key));
  }
  void record(const JobKey& key, const corpus::Case& test_case, Evaluation evaluation,
              const std::vector<protocol::Attempt>& attempts = {}) {
    const std::lock_guard lock(mutex_);
    expected_.apply(key, evaluation.judgement);
    ResultRow row = result_row(key, test_case, evaluation, attempts);
    note(store_.record(run_, row));
    if (config_.on_result) {
      config_.on_result(row, done_ + 1, plan_.jobs.size());
    }
    keep(std::move(row));
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const core::Error& error() const { return error_; }
  [[nodiscard]] std::vector<ResultRow> take_rows() {
    std::vector<ResultRow> rows;
    for (std::optional<ResultRow>& row : rows_) {
      if (row) {
        rows.push_back(*std::move(row));
      }
    }
    return rows;
  }

 private:
  void note(const core::Status& status) {
    if (!status && !failed_) {
      error_ = status.error();
      failed_ = true;
    }
  }

  const RunConfig& config_;
  results::Store& store_;
  std::string run_;
  const Plan& plan_;
  ExpectedFailures& expected_;
  std::mutex mutex_;
  std::vector<std::optional<ResultRow>> rows_;
  std::size_t done_ = 0;
  std::atomic<bool> failed_{false};
  core::Error error_;
};

/// The reference on a stored case.
Evaluation conform(const std::filesystem::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation evaluation;
  evaluation.judgement = conformance::conform(folder).judgement;
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return evaluation;
}

/// Runs one case with every option set on every converter, as far as it is not recorded yet. All but the judging of
/// what was converted is done in a turn at a worker.
void run_item(const RunConfig& config, const RunItem& item, const std::vector<Subject>& subjects, Workers& workers,
              std::size_t planned_verdicts, Recorder& recorder) {
  const corpus::Case& test_case = item.test_case;
  std::unique_ptr<CaseBench> bench;
  for (std::size_t s = 0; s < subjects.size(); ++s) {
    const Subject& subject = subjects[s];
    if (!subject.runs(test_case)) {
      continue;
    }
    for (const corpus::OptionSet& set : item.option_sets) {
      const JobKey key{test_case.name, set.label, subject.description.name, subject.description.version};
      if (recorder.has(key)) {
        continue;
      }
      Turn turn(workers, s, subject, limits(config));
      if (recorder.failed() || (config.stopped && config.stopped())) {
        continue;
      }
      recorder.start(key);
      Evaluation evaluation;
      const std::string& unavailable = test_case.unavailable.empty() ? subject.spec.unavailable : test_case.unavailable;
      if (!unavailable.empty()) {
        evaluation.judgement = plain_judgement(Verdict::unsupported, unavailable);
      } else if (test_case.stored_case) {
        evaluation = conform(*test_case.stored_case);
      } else if (!subject.broken.empty()) {
        evaluation.judgement = plain_judgement(Verdict::crash, subject.broken);
      } else {
        if (bench == nullptr) {
          core::Result<std::unique_ptr<CaseBench>> made = CaseBench::create(test_case, item.data);
          if (!made) {
            evaluation.judgement = plain_judgement(Verdict::harness_error, made.error().message);
            recorder.record(key, test_case, std::move(evaluation));
            continue;
          }
          bench = *std::move(made);
          bench->set_depth(config.every_node ? judge::Depth::every_node : judge::Depth::full);
        }
        if (config.audit) {
          evaluation =
              bench->audit(subject.description, config.artifact, *config.audit, set.options_json, planned_verdicts);
        } else if (subject.executor != nullptr) {
          const auto stated = config.infer_options ? std::nullopt : std::optional(set.options_json);
          evaluation = bench->evaluate_artifact(*subject.executor, subject.description, config.artifact, stated,
                                                planned_verdicts);
        } else {
          evaluation = bench->evaluate(turn, subject.description, set.options_json, planned_verdicts,
                                       [&turn] { turn.pass_on(); });
        }
      }
      recorder.record(key, test_case, std::move(evaluation), turn.attempts());
    }
  }
}

/// Threads for each worker: one judges what it was answered while the other asks.
constexpr int kThreadsOfAWorker = 2;

/// Jobs that an earlier, killed attempt had started are crashes: the case may well be what killed it.
core::Status take_over(results::Store& store, const std::string& run, const RunConfig& config, const Plan& plan,
                       Recorder& recorder) {
  core::Result<results::Store::Progress> progress = store.progress(run);
  core::Result<std::vector<ResultRow>> rows = store.results(run);
  if (!progress || !rows) {
    return progress ? rows.error() : progress.error();
  }
  for (ResultRow& row : *rows) {
    if (plan.index.contains(row.key)) {
      recorder.recall(std::move(row));
    }
  }
  for (const JobKey& key : progress->started) {
    const auto item = std::find_if(config.items.begin(), config.items.end(),
                                   [&](const RunItem& each) { return each.test_case.name == key.case_name; });
    if (item != config.items.end() && plan.index.contains(key)) {
      Evaluation evaluation;
      evaluation.judgement =
          plain_judgement(Verdict::crash, "the run was killed while it held this case; it was resumed afterwards");
      recorder.record(key, item->test_case, std::move(evaluation));
    }
  }
  return core::success();
}

}  // namespace

std::map<std::string, std::size_t> RunReport::counts() const {
  std::map<std::string, std::size_t> counts;
  for (const ResultRow& row : rows) {
    ++counts[row.verdict];
  }
  return counts;
}

core::Result<RunReport> run(const RunConfig& original) {
  RunConfig config = original;
  if (config.shards > 1) {
    std::vector<RunItem> mine;
    for (std::size_t index = 0; index < config.items.size(); ++index) {
      if (index % static_cast<std::size_t>(config.shards) == static_cast<std::size_t>(config.shard - 1)) {
        mine.push_back(std::move(config.items[index]));
      }
    }
    config.items = std::move(mine);
    config.suite += fmt::format(" shard {}/{}", config.shard, config.shards);
  }
  if (config.items.empty() || (config.converters.empty() && config.artifact.empty() && !config.audit)) {
    return RunReport{};
  }
  core::Result<results::Store> store = results::Store::open(config.database);
  if (!store) {
    return store.error();
  }
  std::vector<Subject> subjects;
  for (const ConverterSpec& spec : config.converters) {
    subjects.push_back(describe(spec, limits(config)));
  }
  if (config.audit && config.artifact.empty()) {
    subjects.push_back({{}, nullptr, table_description(*config.audit), {}, nullptr});
  }
  if (!config.artifact.empty()) {
    core::Result<Subject> subject = artifact_subject();
    if (!subject) {
      return subject.error();
    }
    subjects.push_back(*std::move(subject));
  }
  const Plan plan = make_plan(config, subjects);

  std::string run_id;
  bool resumed = false;
  if (config.resume) {
    core::Result<std::optional<results::RunInfo>> unfinished = store->unfinished_run(config.suite);
    if (!unfinished) {
      return unfinished.error();
    }
    if (unfinished->has_value()) {
      run_id = (*unfinished)->id;
      resumed = true;
    }
  }
  if (!resumed) {
    results::RunInfo info;
    info.command = config.command;
    info.suite = config.suite;
    info.planned = plan.jobs.size();
    core::Result<std::string> begun = store->begin_run(info, plan.jobs);
    if (!begun) {
      return begun.error();
    }
    run_id = *begun;
  }

  const bool whole = config.shards == 1 && !config.partial;
  ExpectedFailures expected(of_a_run(config.expected_failures, plan.available, whole));
  Recorder recorder(config, *store, run_id, plan, expected);
  if (resumed) {
    if (core::Status status = take_over(*store, run_id, config, plan, recorder); !status) {
      return status.error();
    }
  }

  std::vector<std::unique_ptr<protocol::Client>> described;
  described.reserve(subjects.size());
  for (Subject& subject : subjects) {
    described.push_back(std::move(subject.client));
  }
  Workers workers(std::min(thread_count(config.jobs), config.items.size()), std::move(described));
  for_each_index(config.items.size(), kThreadsOfAWorker * static_cast<int>(workers.count()), [&](std::size_t index) {
    run_item(config, config.items[index], subjects, workers, plan.jobs.size(), recorder);
  });
  if (recorder.failed()) {
    return recorder.error();
  }
  RunReport report;
  report.run = run_id;
  report.planned = plan.jobs.size();
  report.rows = recorder.take_rows();
  if (config.stopped && config.stopped() && report.rows.size() < report.planned) {
    return report;
  }
  core::Result<results::DriftReport> drift = results::record_drift(*store, run_id, report.rows);
  if (!drift) {
    return drift.error();
  }
  report.drift = *std::move(drift);
  if (core::Status status = store->finish_run(run_id); !status) {
    return status.error();
  }
  report.unused_expectations = expected.unused();
  return report;
}

int exit_code(const RunReport& report) {
  constexpr int kOwnFault = 3;
  constexpr int kInvalid = 2;
  constexpr int kIncomplete = 5;
  constexpr int kRed = 1;
  constexpr int kUnusedExpectation = 6;
  constexpr int kDrift = 4;
  constexpr int kSkip = 77;
  const auto any = [&](auto matches) { return std::any_of(report.rows.begin(), report.rows.end(), matches); };
  if (any([](const ResultRow& row) { return row.verdict == "harness-error"; })) {
    return kOwnFault;
  }
  if (any([](const ResultRow& row) { return row.verdict == "invalid-case"; })) {
    return kInvalid;
  }
  if (report.rows.size() != report.planned || report.rows.empty() ||
      any([](const ResultRow& row) { return row.verdict == "not-run"; })) {
    return kIncomplete;
  }
  if (any([](const ResultRow& row) { return row.gate == "red"; })) {
    return kRed;
  }
  if (!report.unused_expectations.empty()) {
    return kUnusedExpectation;
  }
  if (report.drift.any()) {
    return kDrift;
  }
  if (report.rows.size() == 1 && report.rows.front().verdict == "unsupported") {
    return kSkip;
  }
  return 0;
}

}  // namespace assay::run
