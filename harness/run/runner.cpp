#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "converters/protocol/messages.hpp"
#include "harness/core/files.hpp"
#include "harness/core/forked.hpp"
#include "harness/core/room.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/fallen.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/programs/subject.hpp"
#include "harness/programs/supports_notes.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/lane.hpp"
#include "harness/run/lane_messages.hpp"
#include "harness/run/lanes.hpp"
#include "harness/run/parallel.hpp"
#include "harness/run/result_row.hpp"
#include "harness/run/run_plan.hpp"
#include "harness/run/run_settings.hpp"
#include "harness/run/table_scales.hpp"
#include "harness/suites/expected.hpp"

namespace assay::run {
namespace {

using results::JobKey;
using results::ResultRow;

/// Asked to stop, what is under way has so long to come to its end: a run is to end within a second.
constexpr std::chrono::milliseconds kGraceOfStop{500};

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
  constexpr std::string_view kLacks = "No module named '";
  const std::size_t at = broken.find(kLacks);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kLacks.size();
  const std::string module = broken.substr(begin, broken.find_first_of(".'", begin) - begin);
  if (module != "onnx_assay") {
    return fmt::format(
        "\nthe Python of that command finds no module {0}: install it there if it is a package (python3 -m pip install "
        "{0}), or name another Python in the command",
        module);
  }
  return "\nthe Python of that command has no module onnx_assay: install Assay's wheel there (python3 -m pip install "
         "--no-index --find-links DIST onnx-assay), or set PYTHONPATH to the folder python of Assay's source";
}

/// A program that ends each time before it says what it is has no verdict on any case: its name may be misspelt. One
/// that runs out of a limit of time or memory has: the limits are the run's. A full disk is nobody's name.
core::Status check_answers(const programs::Subject& subject) {
  if (subject.broken.empty() || subject.broken_as != converters::Outcome::crash) {
    return core::success();
  }
  return core::Error{core::speaks_of_room(subject.broken) ? core::ErrorKind::io : core::ErrorKind::usage,
                     fmt::format("{}\nit never said what it is, so no case was run{}", subject.broken,
                                 missing_module_text(subject.broken)),
                     {},
                     {},
                     {}};
}

/// What a run has recorded.
class Recorder {
 public:
  Recorder(const RunConfig& config, results::Store& store, std::string run, const RunPlan& plan,
           suites::ExpectedFailures& expected)
      : config_(config),
        store_(store),
        run_(std::move(run)),
        plan_(plan),
        expected_(expected),
        rows_(plan.jobs.size()) {}

  /// A verdict that is in the database already.
  void recall(ResultRow row) {
    expected_.recall(row.key, row.verdict);
    keep(std::move(row));
  }
  [[nodiscard]] bool has(const JobKey& key) const { return rows_[plan_.index.find(key)->second].has_value(); }

  void start(const JobKey& key) { note(store_.job_started(run_, key)); }
  void record(ResultRow row) {
    note(store_.record(run_, row));
    if (failed_) return;
    if (config_.on_result) {
      config_.on_result(row, done_ + 1, plan_.jobs.size());
    }
    keep(std::move(row));
  }
  /// The run can't go on: nothing more is begun.
  void note(const core::Status& status) {
    if (!status && !failed_) {
      error_ = status.error();
      failed_ = true;
    }
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
  void keep(ResultRow row) {
    const std::size_t index = plan_.index.find(row.key)->second;
    rows_[index] = std::move(row);
    ++done_;
  }

  const RunConfig& config_;
  results::Store& store_;
  std::string run_;
  const RunPlan& plan_;
  suites::ExpectedFailures& expected_;
  std::vector<std::optional<ResultRow>> rows_;
  std::size_t done_ = 0;
  bool failed_ = false;
  core::Error error_;
};

/// What an earlier process recorded of the run. What it had begun is begun anew: its end says nothing of the case,
/// since what kills the judging kills no more than a lane.
core::Status take_over(results::Store& store, const std::string& run, const RunPlan& plan, Recorder& recorder) {
  core::Result<std::vector<ResultRow>> rows = store.results(run);
  if (!rows) {
    return rows.error();
  }
  for (ResultRow& row : *rows) {
    if (plan.index.contains(row.key)) {
      recorder.recall(std::move(row));
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

std::vector<RunProgram> programs_of(const std::vector<programs::Subject>& subjects) {
  std::vector<RunProgram> programs;
  programs.reserve(subjects.size());
  for (const programs::Subject& subject : subjects) {
    programs.push_back({subject.description.name, subject.description.version, subject.hash, subject.spec.command,
                        std::nullopt, programs::supports_notes(subject.description), subject.unavailable()});
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

namespace {

/// Keeps the items of the config's part, in its order.
void take_part(RunConfig& config) {
  if (!config.part) return;
  std::vector<RunItem> mine;
  mine.reserve(config.part->items.size());
  for (const std::size_t index : config.part->items) mine.push_back(std::move(config.items[index]));
  config.items = std::move(mine);
  config.suite += " " + config.part->name;
}

/// The verdicts that `items` are to have.
std::size_t verdicts_of(const std::vector<RunItem>& items, const std::vector<programs::Subject>& subjects) {
  std::size_t count = 0;
  for (const RunItem& item : items) {
    const auto runs = std::ranges::count_if(subjects, [&](const auto& each) { return each.runs(item.test_case); });
    count += static_cast<std::size_t>(runs) * item.option_sets.size();
  }
  return count;
}

/// Who takes part in a run, and what is planned: known to the main process and to every lane.
struct Prepared {
  std::vector<programs::Subject> subjects;
  RunPlan plan;
  std::size_t whole_verdicts = 0;  ///< limits are shared among so many
  std::vector<corpus::ExpectedFailure> expectable;
  std::optional<suites::ExpectedFailures> expected;

  /// Once the converters are described. `whole` has the items that `config`, a part of it, left out.
  /// Errors   usage, for one that is named twice or never said what it is.
  [[nodiscard]] core::Status complete(const RunConfig& config, const RunConfig& whole) {
    for (const programs::Subject& subject : subjects) {
      if (core::Status asked = check_answers(subject); !asked) {
        return asked;
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
      return status;
    }
    core::Result<RunPlan> made = make_plan(config, subjects);
    if (!made) {
      return made.error();
    }
    plan = *std::move(made);
    whole_verdicts = config.whole_verdicts > 0 ? config.whole_verdicts : verdicts_of(whole.items, subjects);
    const bool complete = !config.part && !config.partial;
    expectable = suites::of_a_run(config.expected_failures, plan.available, complete);
    expected.emplace(expectable, complete);
    return core::success();
  }
};

/// In the first lane: asks every converter what it is, and tells the main process.
void describe_all(const RunConfig& config, Prepared& prepared, core::Forked::Line& line) {
  LaneNews news;
  for (const programs::ConverterSpec& spec : config.converters) {
    programs::Subject& subject = prepared.subjects.emplace_back(describe(spec, client_limits(config)));
    subject.hash = programs::program_hash(spec);
    LaneDescribed& described = news.described.emplace_back();
    described.line = protocol::write_description(1, subject.description);
    described.broken = subject.broken;
    described.broken_as = static_cast<std::size_t>(subject.broken_as);
    described.hash = subject.hash;
  }
  line.send(write_message(news));
}

/// The same in the main process, of what the first lane told.
core::Status take_described(const RunConfig& config, const std::vector<LaneDescribed>& described, Prepared& prepared) {
  for (std::size_t index = 0; index < described.size(); ++index) {
    programs::Subject& subject = prepared.subjects.emplace_back();
    core::Result<converters::Description> description = protocol::read_description(1, described[index].line);
    if (!description) {
      return description.error();
    }
    subject.spec = config.converters[index];
    subject.description = *std::move(description);
    subject.broken = described[index].broken;
    subject.broken_as = static_cast<converters::Outcome>(described[index].broken_as);
    subject.hash = described[index].hash;
  }
  return core::success();
}

int stops(const RunConfig& config) { return config.stops ? config.stops() : 0; }

/// Makes every planned verdict that is not recorded yet. Ends sooner where the run is to stop or can't go on.
void judge_all(const RunConfig& config, Prepared& prepared, Lanes& lanes, results::Store& store, const std::string& run,
               Recorder& recorder) {
  using Clock = std::chrono::steady_clock;
  const auto key_at = [&](std::size_t item, std::size_t place) {
    const RunItem& of = config.items[item];
    const Place at = place_of(of, place);
    return key_of(of.test_case, of.option_sets[at.set], prepared.subjects[at.subject]);
  };
  for (std::size_t item = 0; item < config.items.size(); ++item) {
    const RunItem& of = config.items[item];
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < prepared.subjects.size() * of.option_sets.size(); ++place) {
      const bool runs = prepared.subjects[place_of(of, place).subject].runs(of.test_case);
      if (runs && !recorder.has(key_at(item, place))) places.push_back(place);
    }
    if (!places.empty()) lanes.add(item, std::move(places));
  }
  Lanes::Taker taker;
  taker.begun = [&](std::size_t item, std::size_t place) { recorder.start(key_at(item, place)); };
  taker.verdict = [&](LaneNews news) {
    prepared.expected->meet(news.met_expectations);
    recorder.record(*std::move(news.row));
  };
  taker.fell = [&](const Fall& fall) {
    Evaluation evaluation;
    evaluation.judgement = programs::fallen(fall.outcome, judge::Stage::judge, fall.reason).value();
    evaluation.seconds = fall.seconds;
    const results::JobKey key = key_at(fall.item, fall.place);
    const corpus::ExpectedFailure* expected = prepared.expected->apply(key, evaluation.judgement);
    recorder.record(result_row(key, config.items[fall.item].test_case, evaluation, {}, expected));
  };
  const JudgeLimits limits = judge_limits(config);
  auto beaten = Clock::now();
  std::optional<Clock::time_point> stopped;
  while (!lanes.done() && !recorder.failed()) {
    recorder.note(lanes.step(limits, taker));
    if (const auto now = Clock::now(); now - beaten >= results::Store::kBeat) {
      beaten = now;
      const core::Status beat = store.beat(run);
      if (!beat && beat.error().kind == core::ErrorKind::internal)
        recorder.note(beat);  // a busy database isn't the end
    }
    if (stops(config) == 0) continue;
    if (!stopped) {
      stopped = Clock::now();
      lanes.drop_waiting();
    }
    if (stops(config) > 1 || Clock::now() - *stopped > kGraceOfStop) return;
  }
}

/// The lanes of a run, and what they and the main process know of it.
struct Crew {
  const RunConfig& config;
  const RunConfig& whole;
  Prepared prepared;
  bool described = config.converters.empty();
  Lanes lanes;

  /// `jobs`: lanes, unless there are fewer items.
  Crew(const RunConfig& part, const RunConfig& all, std::size_t jobs)
      : config(part),
        whole(all),
        lanes(std::min(jobs, part.items.size()), [this](core::Forked::Line& line, LaneSlots& slots) {
          if (!described) {
            describe_all(config, prepared, line);
            if (!prepared.complete(config, whole)) return;  // the main process says why
          }
          serve_lane(config, prepared.subjects, *prepared.expected, prepared.whole_verdicts, line, slots);
        }) {}

  /// The first lane asks the converters what they are.
  /// Errors   usage, where one never says it or the config's check refuses them; io, where there is no room.
  [[nodiscard]] core::Status get_ready() {
    // Every lane needs such a folder: where none can be made, that is no converter's fault.
    if (const core::Result<std::filesystem::path> folder = core::process_folder(); !folder) return folder.error();
    if (!described) {
      const auto told = lanes.described([&] { return stops(config) > 0; });
      if (!told) return told.error();
      if (!told->has_value()) {
        return core::usage_error("stopped by a signal before the converters had said what they are; nothing was run");
      }
      if (core::Status taken = take_described(config, **told, prepared); !taken) return taken;
      described = true;
    }
    if (core::Status complete = prepared.complete(config, whole); !complete) return complete;
    return config.check_programs ? config.check_programs(programs_of(prepared.subjects)) : core::success();
  }
};

/// Lanes of a run: each has a process of each converter, of which some may have only so many.
std::size_t lanes_of(const RunConfig& config) {
  std::size_t lanes = thread_count(config.jobs);
  for (const programs::ConverterSpec& spec : config.converters) {
    for (const programs::ConverterSpec* each : {&spec, spec.executor.get()}) {
      if (each != nullptr && each->demands.workers > 0) {
        lanes = std::min(lanes, static_cast<std::size_t>(each->demands.workers));
      }
    }
  }
  return lanes;
}

bool nobody_converts(const RunConfig& config) {
  return config.converters.empty() && config.artifact.empty() && !config.audit;
}

}  // namespace

Part shard_of(std::size_t items, int shard, int shards) {
  Part part{fmt::format("shard {}/{}", shard, shards), {}};
  for (auto index = static_cast<std::size_t>(shard - 1); index < items; index += static_cast<std::size_t>(shards)) {
    part.items.push_back(index);
  }
  return part;
}

core::Result<Planned> plan(const RunConfig& config) {
  if (nobody_converts(config) || config.items.empty()) return Planned{};
  Crew crew(config, config, 1);
  if (core::Status ready = crew.get_ready(); !ready) return ready.error();
  const std::vector<programs::Subject>& subjects = crew.prepared.subjects;
  Planned planned{
      programs_of(subjects), crew.prepared.plan.jobs, {}, settings_text(config, subjects), crew.prepared.expectable};
  for (const RunItem& item : config.items) {
    std::vector<std::size_t>& runners = planned.runners.emplace_back();
    for (std::size_t index = 0; index < subjects.size(); ++index) {
      if (subjects[index].runs(item.test_case)) runners.push_back(index);
    }
  }
  crew.lanes.dismiss();
  return planned;
}

core::Result<RunReport> run(const RunConfig& original) {
  RunConfig config = original;
  take_part(config);
  if (nobody_converts(config) || config.items.empty()) {
    return RunReport{};
  }
  core::Result<results::Store> store = results::Store::open(config.database);
  if (!store) {
    return store.error();
  }
  Crew crew(config, original, lanes_of(config));
  if (core::Status ready = crew.get_ready(); !ready) {
    return ready.error();
  }
  Prepared& prepared = crew.prepared;
  Lanes& lanes = crew.lanes;
  const RunPlan& plan = prepared.plan;

  const std::string settings = settings_text(config, prepared.subjects);
  core::Result<std::string> unfinished = config.resume ? resumed_run(*store, config, settings) : std::string();
  if (!unfinished) {
    return unfinished.error();
  }
  std::string run_id = *std::move(unfinished);
  const bool resumed = !run_id.empty();
  if (!resumed) {
    results::RunInfo info;
    info.id = config.run_id;
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
    config.on_begun(programs_of(prepared.subjects), plan.jobs.size());
  }
  Recorder recorder(config, *store, run_id, plan, *prepared.expected);
  if (resumed) {
    if (core::Status status = take_over(*store, run_id, plan, recorder); !status) {
      return status.error();
    }
  }
  judge_all(config, prepared, lanes, *store, run_id, recorder);
  if (recorder.failed()) {
    return recorder.error();
  }
  RunReport report;
  report.run = run_id;
  report.planned = plan.jobs.size();
  report.programs = programs_of(prepared.subjects);
  if (core::Status status = look_for_changes(*store, run_id, report.programs); !status) {
    return status.error();
  }
  report.rows = recorder.take_rows();
  if (report.rows.size() < report.planned) {  // stopped
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
  report.unused_expectations = prepared.expected->unused();
  lanes.dismiss();
  return report;
}

}  // namespace assay::run
