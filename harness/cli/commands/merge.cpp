// What the chunks of a plan (plan.cpp) have come to, in one database, as one run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/run/exit_code.hpp"
#include "harness/run/work_plan.hpp"
#include "harness/suites/expected.hpp"
#include "results/drift.hpp"
#include "results/lines_file.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using results::JobKey;
using results::Store;

struct MergeArguments {
  std::string plan;
  std::string database = ".assay/history.db";
  bool json = false;
};

/// A chunk that lacks verdicts, and why.
struct Missing {
  std::size_t chunk = 0, verdicts = 0;
  std::string why;
  bool own_fault = false;
};

struct Merged {
  std::size_t added = 0;
  std::vector<Missing> missing;
  std::vector<results::Machine> machines;
};

/// The run of a chunk's results file, of the jobs that it may have; or why it can't be taken.
core::Result<Store::RecordedRun> read_chunk(const run::WorkPlan& plan, const fs::path& file,
                                            const std::set<JobKey>& jobs) {
  const auto wrong = [&](const std::string& what) {
    return core::Error{core::ErrorKind::invalid_data, fmt::format("\"{}\" {}", file.string(), what), {}, {}, {}};
  };
  auto runs = results::read_lines_file(file);
  if (!runs) return runs.error();
  if (runs->size() != 1 || runs->front().run.id != plan.run.id) return wrong("is of another plan");
  Store::RecordedRun& run = runs->front();
  for (const results::ResultRow& row : run.results) {
    if (!jobs.contains(row.key))
      return wrong(fmt::format("has a verdict on {} that the chunk doesn't plan", row.key.case_name));
  }
  run.run.finished_at.clear();  // the whole isn't
  run.jobs = {};
  run.accepted.clear();
  return std::move(run);
}

/// Adds what the results file of a chunk has and the database lacks.
core::Status merge_chunk(const run::WorkPlan& plan, const fs::path& file, std::size_t number,
                         const std::set<JobKey>& done, Store& store, Merged& merged) {
  std::vector<JobKey> list = run::jobs_of(plan, plan.chunks[number - 1]);
  const std::set<JobKey> jobs(list.begin(), list.end());
  if (std::ranges::all_of(jobs, [&](const JobKey& key) { return done.contains(key); })) return core::success();
  std::error_code code;
  if (!fs::exists(file, code)) {
    merged.missing.push_back({number, jobs.size(), "no results file"});
    return core::success();
  }
  core::Result<Store::RecordedRun> run = read_chunk(plan, file, jobs);
  if (!run) {
    merged.missing.push_back({number, jobs.size(), run.error().message});
    return core::success();
  }
  merged.machines.push_back(run->run.machine);
  std::string fault;
  std::erase_if(run->results, [&](const results::ResultRow& row) {
    const bool own = row.verdict == judge::verdict_name(judge::Verdict::harness_error);
    if (own && fault.empty()) fault = fmt::format("Assay's own fault on {}: {}", row.key.case_name, row.reason);
    return own;
  });
  std::set<JobKey> left = jobs;
  for (const results::ResultRow& row : run->results) left.erase(row.key);
  if (!left.empty()) {
    merged.missing.push_back(
        {number, left.size(), fault.empty() ? "its results file lacks them" : fault, !fault.empty()});
  }
  const auto count = store.merge({*run});
  if (!count) return count.error();
  merged.added += count->results;
  return core::success();
}

/// "1,3,5-9": as Slurm's --array takes it.
std::string ranges_of(const std::vector<Missing>& missing) {
  std::vector<std::string> words;
  for (std::size_t index = 0; index < missing.size();) {
    const std::size_t first = missing[index].chunk;
    std::size_t last = first;
    while (++index < missing.size() && missing[index].chunk == last + 1) ++last;
    words.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return core::join(words, ",");
}

/// What the database has of the run now.
struct Whole {
  std::map<std::string, std::size_t> counts;
  std::size_t recorded = 0, red = 0;
  run::ExitTally tally;
};

core::Result<Whole> tally_of(Store& store, const run::WorkPlan& plan, suites::ExpectedFailures& expected) {
  Whole whole;
  const core::Status read = store.each_result(plan.run.id, [&](std::int64_t /*id*/, const results::ResultRow& row) {
    ++whole.recorded;
    ++whole.counts[row.verdict];
    if (run::gate_of(row) == judge::Gate::red) ++whole.red;
    whole.tally.add(row);
    expected.recall(row.key, row.verdict);
  });
  if (!read) return read.error();
  return whole;
}

/// Compares with the database's anchors, and marks the run as finished.
core::Result<results::DriftReport> finish_merged(Store& store, const run::WorkPlan& plan) {
  results::DriftReport drift;
  const auto anchors = store.anchors();
  if (!anchors) return anchors.error();
  if (!anchors->empty()) {
    const auto rows = store.results(plan.run.id);
    if (!rows) return rows.error();
    core::Result<results::DriftReport> compared = results::record_drift(store, plan.run.id, *rows);
    if (!compared) return compared;
    drift = *std::move(compared);
  }
  Store::RecordedRun end;
  end.run = plan.run;
  end.run.finished_at = results::utc_now();
  const auto ended = store.merge({end});
  if (!ended) return ended.error();
  return drift;
}

void say_missing(const std::vector<Missing>& missing, const std::string& plan) {
  constexpr std::size_t kShown = 10;
  for (std::size_t index = 0; index < std::min(missing.size(), kShown); ++index) {
    const Missing& each = missing[index];
    print("chunk {} lacks {}: {}\n", each.chunk, core::counted(each.verdicts, "verdict"), each.why);
  }
  if (missing.size() > kShown) print("… and {}\n", core::counted(missing.size() - kShown, "more chunk"));
  print("missing chunks: {}\ndo them again: {}work {} CHUNK, then merge again\n", ranges_of(missing), here("./assay "),
        shell_quoted(plan));
}

int merge_command(const MergeArguments& arguments) {
  const run::PlanFolder folder(arguments.plan);
  const core::Result<run::WorkPlan> plan = run::read_work_plan(folder);
  if (!plan) return report_error(plan.error());
  core::Result<Store> store = Store::open(arguments.database);
  if (!store) return report_error(store.error());
  {
    Store::RecordedRun begun;
    begun.run = plan->run;
    begun.jobs.waiting = run::jobs_of(*plan);
    if (const auto known = store->merge({begun}); !known) return report_error(known.error());
  }
  std::set<JobKey> done;
  {
    core::Result<Store::Progress> progress = store->progress(plan->run.id);
    if (!progress) return report_error(progress.error());
    done = std::set<JobKey>(progress->done.begin(), progress->done.end());
  }
  Merged merged;
  Progress line(Terminal::of(stderr));
  for (std::size_t number = 1; number <= plan->chunk_count; ++number) {
    if (const core::Status status = merge_chunk(*plan, folder.results_of(number), number, done, *store, merged);
        !status) {
      line.clear();
      return report_error(status.error());
    }
    line.step(number, plan->chunk_count, "chunks");
  }
  line.clear();
  if (!merged.machines.empty()) {
    if (done.empty()) {
      if (const auto set = store->set_machine(plan->run.id, run::combined(merged.machines)); !set) {
        return report_error(set.error());
      }
    }
  }
  suites::ExpectedFailures expected(plan->expected, plan->complete, run::combined(merged.machines));
  const core::Result<Whole> whole = tally_of(*store, *plan, expected);
  if (!whole) return report_error(whole.error());
  const bool complete = whole->recorded == plan->run.planned;
  results::DriftReport drift;
  std::vector<std::string> unused;
  if (complete) {
    core::Result<results::DriftReport> finished = finish_merged(*store, *plan);
    if (!finished) return report_error(finished.error());
    drift = *std::move(finished);
    unused = expected.unused();
  }
  run::ExitCode code = whole->tally.code(plan->run.planned, !unused.empty(), drift.any());
  if (std::ranges::any_of(merged.missing, &Missing::own_fault)) code = run::ExitCode::own_fault;
  if (arguments.json) {
    nlohmann::ordered_json missing = nlohmann::ordered_json::array();
    for (const Missing& each : merged.missing) {
      missing.push_back({{"chunk", each.chunk}, {"verdicts", each.verdicts}, {"reason", each.why}});
    }
    print("{}\n", nlohmann::ordered_json{{"run", plan->run.id},
                                         {"planned", plan->run.planned},
                                         {"recorded", whole->recorded},
                                         {"new_verdicts", merged.added},
                                         {"verdicts", whole->counts},
                                         {"missing", std::move(missing)},
                                         {"unused_expectations", unused},
                                         {"drifted", drift.drifted.size()}}
                      .dump());
    return static_cast<int>(code);
  }
  print("run {} of {}: {} of {} in {}, {} new\n", plan->run.id, plan->run.suite, whole->recorded,
        core::counted(plan->run.planned, "verdict"), arguments.database, merged.added);
  if (!merged.missing.empty()) say_missing(merged.missing, arguments.plan);
  for (const std::string& entry : unused) print("{}\n", entry);
  if (drift.any())
    print("{} drifted from an anchor: {}drift says how\n", core::counted(drift.drifted.size(), "verdict"),
          here("./assay "));
  std::vector<std::string> words;
  for (const auto& [verdict, count] : whole->counts) words.push_back(fmt::format("{} {}", count, verdict));
  print("{} planned: {}; {} red\n", plan->run.planned, words.empty() ? "none is there" : core::join(words, ", "),
        whole->red);
  return static_cast<int>(code);
}

}  // namespace

void register_merge(Command app, Action& action) {
  auto arguments = std::make_shared<MergeArguments>();
  const Command command = app.add_subcommand(
      "merge", "Put the results of a plan's chunks into a database as one run, and say what is missing");
  command.add_option("plan", arguments->plan, "Folder that `assay plan` made").required();
  command.add_option("--db", arguments->database, "Results database; made where there is none");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return merge_command(*arguments); }; });
}

}  // namespace assay::cli
