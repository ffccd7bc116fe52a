// One chunk of a plan (plan.cpp): judged as a part of the planned run, written as one results file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/run_request.hpp"
#include "harness/cli/stop_signal.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/run/run_settings.hpp"
#include "harness/run/work_plan.hpp"
#include "results/lines_file.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct WorkArguments {
  std::string plan, chunk;
  std::optional<int> jobs;
};

/// Why the chunk has to be done, also where a results file is there; "" where that holds it whole.
std::string left_to_do(const run::WorkPlan& plan, const fs::path& file, std::size_t chunk) {
  std::error_code code;
  if (!fs::exists(file, code)) return "it has no results yet";
  const auto runs = results::read_lines_file(file);
  if (!runs) return runs.error().message;
  if (runs->size() != 1 || runs->front().run.id != plan.run.id) return file.string() + " is another run's";
  const results::Store::RecordedRun& run = runs->front();
  if (run.run.finished_at.empty() || run.results.size() != run.jobs.done.size())
    return file.string() + " isn't complete";
  const auto own =
      std::ranges::count(run.results, judge::verdict_name(judge::Verdict::harness_error), &results::ResultRow::verdict);
  return own == 0
             ? ""
             : fmt::format("{} of chunk {} {} Assay's own fault",
                           core::counted(static_cast<std::size_t>(own), "verdict"), chunk, own == 1 ? "is" : "are");
}

/// Of the settings, what doesn't depend on a converter: these are asked only once they run.
std::string without_converters(const std::string& settings) {
  std::string kept;
  for (std::size_t begin = 0; begin < settings.size();) {
    const std::size_t end = std::min(settings.find('\n', begin), settings.size() - 1) + 1;
    const std::string line = settings.substr(begin, end - begin);
    if (!line.starts_with("converter ")) kept += line;
    begin = end;
  }
  return kept;
}

/// Which cases are others than those that were planned, a line each; "" where none is.
std::string changed_cases(const run::PlanFolder& folder, const run::RunConfig& config) {
  const core::Result<run::WorkPlan> plan = run::read_work_plan(folder);
  if (!plan) return "";
  std::map<std::string, std::string> planned;
  for (const run::WorkPlan::Item& item : plan->items) planned[item.name] = item.hash;
  std::vector<std::string> changes;
  for (const run::RunItem& item : config.items) {
    const auto before = planned.find(item.test_case.name);
    if (before == planned.end()) {
      changes.push_back("case " + item.test_case.name + " was not planned");
      continue;
    }
    if (before->second != run::planned_hash(item.test_case)) changes.push_back("case " + before->first + " was edited");
    planned.erase(before);
  }
  for (const auto& [name, hash] : planned) changes.push_back("case " + name + " is missing");
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t index = 0; index < std::min(changes.size(), kShown); ++index) text += "  " + changes[index] + "\n";
  if (changes.size() > kShown) text += fmt::format("  and {}\n", core::counted(changes.size() - kShown, "more case"));
  return text;
}

core::Error another(const std::string& what) {
  return core::usage_error(fmt::format(
      "this is not what was planned:\n{}do the chunk with what the plan was made with, or make a new plan", what));
}

core::Status check_settings(const run::WorkPlan& plan, const run::PlanFolder& folder, const run::RunConfig& config) {
  const std::string planned = without_converters(plan.run.settings), here = run::settings_text(config, {});
  if (planned == here) return core::success();
  return another(run::settings_difference(planned, here) + changed_cases(folder, config));
}

/// The converters are the planned ones, by name, version and content; where they lie may differ.
core::Status check_programs(const run::WorkPlan& plan, const run::WorkPlan::Kind& kind,
                            const std::vector<run::RunProgram>& programs) {
  const auto words = [](const run::RunProgram& program) {
    return fmt::format("{} {}, {}{}", program.name, program.version, programs::short_hash(program.hash),
                       program.unavailable.empty() ? "" : ", which can't run: " + program.unavailable);
  };
  std::string what;
  for (std::size_t index = 0; index < programs.size(); ++index) {
    const std::string planned = words(plan.programs[kind.programs[index]]), here = words(programs[index]);
    if (planned != here) {
      what += fmt::format("  converter {}: planned {}, now {}\n", kind.programs[index] + 1, planned, here);
    }
  }
  return what.empty() ? core::success() : core::Status(another(what));
}

std::string counts_text(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::string> words;
  words.reserve(counts.size());
  for (const auto& [verdict, count] : counts) words.push_back(fmt::format("{} {}", count, verdict));
  return core::join(words, ", ");
}

int work_command(const WorkArguments& arguments) {
  std::size_t number = 0;
  const char* const end = arguments.chunk.data() + arguments.chunk.size();
  if (const auto [rest, code] = std::from_chars(arguments.chunk.data(), end, number);
      code != std::errc() || rest != end) {
    return report_error(core::usage_error(fmt::format("CHUNK is a number from 1 on, not \"{}\"", arguments.chunk)));
  }
  const run::PlanFolder folder(arguments.plan);
  const core::Result<run::WorkPlan> plan = run::read_work_plan(folder, number);
  if (!plan) return report_error(plan.error());
  const fs::path file = folder.results_of(number);
  const std::string name = fmt::format("chunk {} of {}", number, plan->chunk_count);
  const std::string reason = left_to_do(*plan, file, number);
  if (reason.empty()) {
    print("{} is done: {}\n", name, file.string());
    return kExitOk;
  }
  std::error_code code;
  if (fs::exists(file, code)) print(stderr, "assay: {} is done again: {}\n", name, reason);

  if (::access(folder.results().c_str(), W_OK) != 0) {
    return report_error(core::usage_error(
        fmt::format("results can't be written to \"{}\": {}; mount the plan's folder so that they can",
                    folder.results().string(), std::generic_category().message(errno))));
  }

  core::Result<RunRequest> request = read_request(plan->request);
  if (!request) return report_error(request.error());
  run::RunConfig config;
  if (const std::optional<int> failed = configure(*request, config)) return *failed;
  if (config.converters.size() != plan->programs.size()) {
    return report_error(
        another(fmt::format("  converters: planned {}, now {}\n", plan->programs.size(), config.converters.size())));
  }
  if (const core::Status same = check_settings(*plan, folder, config); !same) return report_error(same.error());

  const run::Chunk& chunk = plan->chunks.back();
  const run::WorkPlan::Kind& kind = plan->kinds[chunk.kind];
  std::vector<programs::ConverterSpec> converters;
  for (const std::size_t index : kind.programs) converters.push_back(config.converters[index]);
  config.converters = std::move(converters);
  for (const std::size_t item : chunk.items) {
    if (item >= config.items.size()) {
      return report_error(core::Error{
          core::ErrorKind::invalid_data, name + " names a case that isn't there; make the plan again", {}, {}, {}});
    }
  }
  config.part = run::Part{fmt::format("chunk {}/{}", number, plan->chunk_count), chunk.items};
  config.whole_verdicts = plan->run.planned;
  config.run_id = plan->run.id;
  config.command = plan->run.command;
  config.jobs = arguments.jobs.value_or(plan->jobs);
  config.check_programs = [&](const auto& programs) { return check_programs(*plan, kind, programs); };
  const core::Result<core::TemporaryFolder> scratch = core::TemporaryFolder::create();
  if (!scratch) return report_error(scratch.error());
  config.database = scratch->path() / "chunk.db";
  const auto progress = std::make_shared<Progress>(Terminal::of(stderr));
  config.on_result = [progress](const results::ResultRow& row, std::size_t done, std::size_t planned) {
    progress->step(done, planned, row.key.case_name);
    if (done == planned) progress->clear();
  };
  config.stops = stop_on_signal();
  const core::Result<run::RunReport> report = run::run(config);
  progress->clear();
  if (!report) {
    const int exit_code = report_error(report.error());
    return report.error().kind == core::ErrorKind::io ? kExitOwnFault : exit_code;
  }
  if (report->rows.size() < report->planned || report->rows.empty()) {
    print(stderr,
          "assay: {}: stopped by a signal after {} of {}, of which nothing is kept; the same command does it anew\n",
          name, report->rows.size(), core::counted(report->planned, "verdict"));
    return kExitIncomplete;
  }
  {
    core::Result<results::Store> store = results::Store::open(config.database);
    if (!store) return report_error(store.error());
    if (const core::Status written = results::write_lines_file(*store, file); !written) {
      report_error(written.error());
      return kExitOwnFault;
    }
  }
  const std::map<std::string, std::size_t> counts = report->counts();
  print("{}: {}\n", name, counts_text(counts));
  const auto own_fault =
      std::ranges::find(report->rows, judge::verdict_name(judge::Verdict::harness_error), &results::ResultRow::verdict);
  if (own_fault == report->rows.end()) return kExitOk;
  print(
      stderr,
      "assay: {}: {} is Assay's own fault, or this machine's: {}; merge leaves such verdicts out, and the same command "
      "does the chunk again\n",
      name, own_fault->key.case_name, own_fault->reason);
  return kExitOwnFault;
}

}  // namespace

void register_work(Command app, Action& action) {
  auto arguments = std::make_shared<WorkArguments>();
  const Command command = app.add_subcommand(
      "work", "Do one chunk of a plan and write its results file; what is done already is not done again");
  command.add_option("plan", arguments->plan, "Folder that `assay plan` made").required();
  command.add_option("chunk", arguments->chunk, "Number of the chunk, from 1 on").required();
  command
      .add_option("--jobs", arguments->jobs,
                  "Cases that are converted at a time; 0: one per core (left out: as planned)")
      .check(Check::non_negative);
  command.callback([arguments, &action] { action = [arguments] { return work_command(*arguments); }; });
}

}  // namespace assay::cli
