#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <regex>
#include <string_view>
#include <thread>

#include "harness/conformance/conform.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/fallen.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/programs/subject.hpp"
#include "harness/programs/supports_notes.hpp"
#include "harness/programs/workers.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/parallel.hpp"
#include "harness/run/result_row.hpp"
#include "harness/run/run_settings.hpp"
#include "harness/run/table_scales.hpp"
#include "harness/run/trial.hpp"
#include "harness/suites/expected.hpp"

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

JobKey key_of(const corpus::Case& test_case, const corpus::OptionSet& set, const programs::Subject& subject) {
  return {test_case.name, set.label, subject.description.name, subject.description.version, subject.hash};
}

/// Program and arguments of the converter and of who runs its artifacts.
std::vector<std::string> whole_command(const programs::Subject& subject) {
  std::vector<std::string> words = subject.spec.command;
  if (subject.spec.executor != nullptr) {
    words.emplace_back("executed by");
    words.insert(words.end(), subject.spec.executor->command.begin(), subject.spec.executor->command.end());
  }
  return words;
}

/// The words for two subjects that verdicts could not tell apart, "" for any others.
std::string_view sameness(const programs::Subject& a, const programs::Subject& b) {
  const bool same_name = a.description.name == b.description.name && a.description.version == b.description.version;
  if (same_name && a.spec.command.empty() && b.spec.command.empty()) {
    return "the same name and version as";
  }
  if (!a.spec.command.empty() && whole_command(a) == whole_command(b)) {
    return "the same program with the same arguments as";
  }
  return same_name && a.hash == b.hash ? "the same name and version, and programs of the same content, as" : "";
}

/// Errors   usage, for a converter that is named twice.
core::Status check_converters(const std::vector<programs::Subject>& subjects) {
  for (std::size_t second = 1; second < subjects.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (const std::string_view same = sameness(subjects[first], subjects[second]); !same.empty()) {
        const programs::Subject& twice = subjects[second];
        const auto quoted = [](const programs::Subject& subject) {
          return subject.spec.command.empty() ? "" : ", \"" + core::join(subject.spec.command, " ") + "\"";
        };
        return core::usage_error(fmt::format(
            "converter {} {}{} is named twice: {} converter {} of this run{}; name each once", twice.description.name,
            twice.description.version, quoted(twice), same, first + 1, quoted(subjects[first])));
      }
    }
  }
  return core::success();
}

/// What to do where the Python that runs a converter lacks a module; "" elsewhere.
std::string missing_module_text(const std::string& broken) {
  static const std::regex kMissing("No module named '([A-Za-z0-9_]+)");
  std::smatch module;
  if (!std::regex_search(broken, module, kMissing)) return "";
  if (module.str(1) != "onnx_assay") {
    return fmt::format(
        "\nthe Python of that command has no module {0}: install it there (python3 -m pip install {0}), or "
        "name another Python in the command",
        module.str(1));
  }
  return "\nthe Python of that command has no module onnx_assay: install Assay's wheel there (python3 -m pip install "
         "--no-index --find-links DIST onnx-assay), or set PYTHONPATH to the folder python of Assay's source";
}

/// Errors   internal, for a verdict that is planned twice.
/// A program that ends each time before it says what it is has no verdict on any case: its name may be misspelt. One
/// that runs out of a limit of time or memory has: the limits are the run's.
core::Status check_answers(const programs::Subject& subject) {
  if (subject.broken.empty() || subject.broken_as != converters::Outcome::crash) {
    return core::success();
  }
  return core::Error{core::ErrorKind::usage,
                     fmt::format("{}\nit never said what it is, so no case was run{}", subject.broken,
                                 missing_module_text(subject.broken)),
                     {},
                     {},
                     {}};
}

core::Result<Plan> make_plan(const RunConfig& config, const std::vector<programs::Subject>& subjects) {
  Plan plan;
  for (const RunItem& item : config.items) {
    for (const programs::Subject& subject : subjects) {
      if (!subject.runs(item.test_case)) {
        continue;
      }
      for (const corpus::OptionSet& set : item.option_sets) {
        JobKey key = key_of(item.test_case, set, subject);
        if (!plan.index.emplace(key, plan.jobs.size()).second) {
          return core::Error{core::ErrorKind::internal,
                             fmt::format("case \"{}\" with options \"{}\" by {} {} is planned twice", key.case_name,
                                         key.options, key.converter, key.version),
                             {},
                             {},
                             {}};
        }
        if (subject.unavailable().empty()) {
          plan.available.push_back(key);
        }
        plan.jobs.push_back(std::move(key));
      }
    }
  }
  return plan;
}

programs::ClientLimits limits(const RunConfig& config) { return {config.timeout_s, config.memory_limit_bytes}; }

judge::Judgement plain_judgement(Verdict verdict, std::string reason) {
  judge::Judgement judgement;
  judgement.verdict = verdict;
  judgement.gate = judge::default_gate(verdict);
  judgement.stage = judge::Stage::convert;
  judgement.reason = std::move(reason);
  return judgement;
}

results::ExpectationRow expectation_row(const corpus::ExpectedFailure& entry) {
  return {entry.case_pattern, entry.options, entry.converter, entry.versions, entry.stage,
          entry.facet,        entry.reason,  entry.url,       entry.until,    entry.margin};
}

/// The shared state of a run's threads; everything behind one lock, which is held for microseconds.
class Recorder {
 public:
  Recorder(const RunConfig& config, results::Store& store, std::string run, const Plan& plan,
           suites::ExpectedFailures& expected)
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
    const corpus::ExpectedFailure* expected = expected_.apply(key, evaluation.judgement);
    ResultRow row = result_row(key, test_case, evaluation, attempts);
    if (expected != nullptr) row.expectation = expectation_row(*expected);
    note(store_.record(run_, row));
    if (config_.on_result) {
      config_.on_result(row, done_ + 1, plan_.jobs.size());
    }
    keep(std::move(row));
  }
  /// The run can't go on: what is under way is finished, and nothing more is begun.
  void fail(const core::Status& status) {
    const std::lock_guard lock(mutex_);
    note(status);
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
  suites::ExpectedFailures& expected_;
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

/// One case on its way through the converters. Each has files of its own, so that none meets another's traces; they
/// share the reference's results.
class ItemRun {
 public:
  ItemRun(const RunConfig& config, const RunItem& item, std::size_t planned_verdicts)
      : config_(config), item_(item), planned_verdicts_(planned_verdicts) {}

  /// Never fails: what goes wrong is the verdict.
  [[nodiscard]] Evaluation evaluate(programs::Turn& turn, const programs::Subject& subject,
                                    const corpus::OptionSet& set) {
    const corpus::Case& test_case = item_.test_case;
    const std::string& unavailable = test_case.unavailable.empty() ? subject.spec.unavailable : test_case.unavailable;
    Evaluation evaluation;
    if (!unavailable.empty()) {
      evaluation.judgement = plain_judgement(Verdict::unsupported, unavailable);
      return evaluation;
    }
    try {
      if (test_case.stored_case) {
        return conform(*test_case.stored_case);
      }
      if (!subject.broken.empty()) {
        const auto fallen = programs::fallen(subject.broken_as, judge::Stage::convert, subject.broken);
        evaluation.judgement = fallen.value_or(plain_judgement(Verdict::crash, subject.broken));
        return evaluation;
      }
      if (const core::Status status = prepare(subject); !status) {
        evaluation.judgement = own_fault(status.error());
        return evaluation;
      }
      return ask_and_judge(turn, subject, set);
    } catch (const std::bad_alloc&) {
      bench_.reset();  // in what state nobody knows
      evaluation.judgement = plain_judgement(
          Verdict::oom, "this program had no memory left for what the converter made, or for judging it");
      evaluation.judgement.stage = judge::Stage::judge;
      return evaluation;
    }
  }

 private:
  /// Makes the files of `subject`.
  [[nodiscard]] core::Status prepare(const programs::Subject& subject) {
    if (bench_ != nullptr && owner_ == &subject) {
      return core::success();
    }
    core::Result<std::unique_ptr<CaseBench>> made = CaseBench::create(item_.test_case, item_.data, bench_.get());
    if (!made) {
      return made.error();
    }
    bench_ = *std::move(made);
    owner_ = &subject;
    bench_->set_depth(config_.every_node ? judge::Depth::every_node : judge::Depth::full);
    bench_->keep_detail(config_.detail);
    bench_->require_judged(config_.require_judged || (config_.own_corpus && subject.spec.is_embedded()));
    return core::success();
  }

  [[nodiscard]] Evaluation ask_and_judge(programs::Turn& turn, const programs::Subject& subject,
                                         const corpus::OptionSet& set) {
    if (config_.audit) {
      return bench_->audit(subject.description, config_.artifact, *config_.audit, set.options_json, planned_verdicts_);
    }
    if (subject.executor != nullptr) {
      return bench_->evaluate_artifact(*subject.executor, subject.description, config_.artifact, set.options_json,
                                       planned_verdicts_, config_.made_by);
    }
    return bench_->evaluate(turn, subject.description, set.options_json, planned_verdicts_,
                            [&turn] { turn.pass_on(); });
  }

  const RunConfig& config_;
  const RunItem& item_;
  std::size_t planned_verdicts_;
  std::unique_ptr<CaseBench> bench_;
  const programs::Subject* owner_ = nullptr;  ///< of bench_
};

/// Runs one case with every option set on every converter, as far as it is not recorded yet. All but the judging of
/// what was converted is done in a turn at a worker.
void run_item(const RunConfig& config, const RunItem& item, const std::vector<programs::Subject>& subjects,
              programs::Workers& workers, std::size_t planned_verdicts, Recorder& recorder) {
  ItemRun run(config, item, planned_verdicts);
  for (std::size_t s = 0; s < subjects.size(); ++s) {
    const programs::Subject& subject = subjects[s];
    if (!subject.runs(item.test_case)) {
      continue;
    }
    for (const corpus::OptionSet& set : item.option_sets) {
      const JobKey key = key_of(item.test_case, set, subject);
      if (recorder.has(key)) {
        continue;
      }
      programs::Turn turn(workers, s, subject, limits(config));
      if (recorder.failed() || (config.stopped && config.stopped())) {
        continue;
      }
      recorder.start(key);
      Evaluation evaluation = run.evaluate(turn, subject, set);
      recorder.record(key, item.test_case, std::move(evaluation), turn.attempts());
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

/// The unfinished run that `config` goes on with, which is this process's then; "" where there is none.
/// Errors   usage, where one was begun with something else, or another process is at it.
core::Result<std::string> resumed_run(results::Store& store, const RunConfig& config, const std::string& settings) {
  const core::Result<std::vector<results::RunInfo>> unfinished = store.unfinished_runs(config.suite);
  if (!unfinished) {
    return unfinished.error();
  }
  std::optional<core::Error> held;
  for (const results::RunInfo& run : *unfinished) {
    if (run.settings != settings) {
      continue;
    }
    const core::Status claimed = store.claim_run(run.id);
    if (claimed) {
      return run.id;
    }
    held = held.value_or(claimed.error());
  }
  if (held) {
    return *held;
  }
  if (unfinished->empty()) {
    return std::string();
  }
  const results::RunInfo& newest = unfinished->front();
  return core::usage_error(fmt::format(
      "run {} of {} (\"{}\") can't be resumed by this command, it was begun with something else:\n{}repeat its command "
      "with the same build, or leave --resume out for a new run",
      newest.id, newest.started_at, newest.command, settings_difference(newest.settings, settings)));
}

/// Gives signs of life while a run is under way.
class Heartbeat {
 public:
  Heartbeat(results::Store& store, const std::string& run, Recorder& recorder)
      : thread_([this, &store, run, &recorder](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!waiting_.wait_for(lock, stop, results::Store::kBeat, [] { return false; }) &&
                 !stop.stop_requested()) {
            const core::Status beat = store.beat(run);
            if (!beat && beat.error().kind == core::ErrorKind::internal) {  // a busy database isn't the end
              recorder.fail(beat);
            }
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any waiting_;
  std::jthread thread_;
};

std::vector<RunProgram> programs_of(const std::vector<programs::Subject>& subjects) {
  std::vector<RunProgram> programs;
  for (const programs::Subject& subject : subjects) {
    programs.push_back({subject.description.name, subject.description.version, subject.hash, subject.spec.command,
                        std::nullopt, programs::supports_notes(subject.description)});
  }
  return programs;
}

/// Whether the newest other run by each name and version was another program's.
core::Status look_for_changes(results::Store& store, const std::string& run, std::vector<RunProgram>& programs) {
  const auto is_switch = [](const std::string& word) { return word == "--fault" || word == "--variant"; };
  for (RunProgram& program : programs) {
    if (program.hash.empty() || std::ranges::any_of(program.command, is_switch)) {
      continue;
    }
    core::Result<std::optional<results::Store::KnownProgram>> known =
        store.known_program(program.name, program.version, run);
    if (!known) {
      return known.error();
    }
    if (known->has_value() && (*known)->hash != program.hash) {
      program.changed_since = *std::move(known);
    }
  }
  return core::success();
}

}  // namespace

bool RunReport::shares_its_name(const JobKey& key) const {
  return std::ranges::count_if(programs, [&](const RunProgram& each) {
           return each.name == key.converter && each.version == key.version;
         }) > 1;
}

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
  std::vector<programs::Subject> subjects;
  for (const programs::ConverterSpec& spec : config.converters) {
    subjects.push_back(describe(spec, limits(config)));
    subjects.back().hash = programs::program_hash(spec);
    if (core::Status asked = check_answers(subjects.back()); !asked) {
      return asked.error();
    }
  }
  if (config.audit && config.artifact.empty()) {
    programs::Subject& table = subjects.emplace_back();
    table.description = table_description(*config.audit);
  }
  if (!config.artifact.empty()) {
    core::Result<programs::Subject> subject = programs::artifact_subject();
    if (!subject) {
      return subject.error();
    }
    subjects.push_back(*std::move(subject));
  }
  if (core::Status status = check_converters(subjects); !status) {
    return status.error();
  }
  const core::Result<Plan> made = make_plan(config, subjects);
  if (!made) {
    return made.error();
  }
  const Plan& plan = *made;

  const std::string settings = settings_text(config, subjects);
  core::Result<std::string> unfinished = config.resume ? resumed_run(*store, config, settings) : std::string();
  if (!unfinished) {
    return unfinished.error();
  }
  std::string run_id = *std::move(unfinished);
  const bool resumed = !run_id.empty();
  if (!resumed) {
    results::RunInfo info;
    info.command = config.command;
    info.suite = config.suite;
    info.settings = settings;
    info.planned = plan.jobs.size();
    core::Result<std::string> begun = store->begin_run(info, plan.jobs);
    if (!begun) {
      return begun.error();
    }
    run_id = *begun;
  }

  if (config.on_begun) {
    config.on_begun(programs_of(subjects), plan.jobs.size());
  }
  const bool whole = config.shards == 1 && !config.partial;
  suites::ExpectedFailures expected(suites::of_a_run(config.expected_failures, plan.available, whole), whole);
  Recorder recorder(config, *store, run_id, plan, expected);
  if (resumed) {
    if (core::Status status = take_over(*store, run_id, config, plan, recorder); !status) {
      return status.error();
    }
  }

  std::vector<std::unique_ptr<protocol::Client>> described;
  described.reserve(subjects.size());
  for (programs::Subject& subject : subjects) {
    described.push_back(std::move(subject.client));
  }
  programs::Workers workers(std::min(thread_count(config.jobs), config.items.size()), std::move(described));
  {
    const Heartbeat heartbeat(*store, run_id, recorder);
    for_each_index(config.items.size(), kThreadsOfAWorker * static_cast<int>(workers.count()), [&](std::size_t index) {
      run_item(config, config.items[index], subjects, workers, plan.jobs.size(), recorder);
    });
  }
  if (recorder.failed()) {
    return recorder.error();
  }
  RunReport report;
  report.run = run_id;
  report.planned = plan.jobs.size();
  report.programs = programs_of(subjects);
  if (core::Status status = look_for_changes(*store, run_id, report.programs); !status) {
    return status.error();
  }
  report.rows = recorder.take_rows();
  if (config.stopped && config.stopped() && report.rows.size() < report.planned) {
    if (core::Status status = store->release_run(run_id); !status) {
      return status.error();
    }
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

}  // namespace assay::run
