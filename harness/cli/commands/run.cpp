#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "harness/cli/artifact_options.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/fault_effect.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/run_output.hpp"
#include "harness/cli/run_request.hpp"
#include "harness/cli/selection.hpp"
#include "harness/cli/stop_signal.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/report/drift.hpp"
#include "harness/report/repeat.hpp"
#include "harness/report/run_report.hpp"

namespace assay::cli {
namespace {

struct RunArguments : RunRequest {
  ArtifactOptions artifact;
  std::string database = ".assay/history.db";
  int jobs = 0;
  std::string shard;
  std::size_t min_judged = 0;
  bool resume = false;
  bool skip_unavailable = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

bool parse_shard(const std::string& text, run::RunConfig& config) {
  if (text.empty()) return true;
  int shard = 0, shards = 0, length = 0;
  if (std::sscanf(text.c_str(), "%d/%d%n", &shard, &shards, &length) != 2 ||
      static_cast<std::size_t>(length) != text.size() || shard < 1 || shard > shards) {
    return false;
  }
  if (shards > 1) config.part = run::shard_of(config.items.size(), shard, shards);
  return true;
}

/// Those of --converter-cmd that are the verdict's program: one, or none where it was named otherwise.
std::vector<std::string> commands_of(const RunArguments& arguments, const run::RunReport& report,
                                     const results::JobKey& key) {
  std::vector<std::string> own;
  for (const std::string& text : arguments.converters.commands) {
    const core::Result<programs::ConverterSpec> spec = programs::parse_converter_command(text);
    if (spec && std::ranges::any_of(report.programs, [&](const run::RunProgram& each) {
          return each.hash == key.hash && each.command == spec->command;
        })) {
      own.push_back(text);
    }
  }
  return own;
}

std::string repeat_command(const RunArguments& arguments, const run::RunReport& report, const results::ResultRow& row) {
  const bool elsewhere = arguments.database != RunArguments().database;
  return report::repeat_command(
      row, {with_folders_marked(arguments.words), commands_of(arguments, report, row.key), arguments.executors,
            arguments.converters.faults, arguments.converters.variant, arguments.metamorphic, arguments.require_judged,
            arguments.converters.no_sandbox, arguments.converters.reads, arguments.converters.writes,
            limit_words(arguments), arguments.options, arguments.artifact.file, arguments.artifact.made_by,
            elsewhere ? arguments.database : "", report::own_labels_of(arguments.words)});
}

/// The embedded converter's faults and variant, in words.
std::string changed_by(const ConverterOptions& converters) {
  std::vector<std::string> words;
  for (const std::string& fault : converters.faults) words.push_back("fault " + fault);
  if (!converters.variant.empty()) words.push_back("variant " + converters.variant);
  return core::join(words, ", ");
}

/// Where the cases take their data from.
std::string data_words(const std::vector<run::RunItem>& items) {
  const auto stored = std::ranges::count_if(items, [](const run::RunItem& item) {
    return item.test_case.stored_data.has_value() || item.test_case.stored_case.has_value();
  });
  if (stored == 0) return "data drawn from each case's seed";
  return std::cmp_equal(stored, items.size()) ? "data stored with the cases"
                                              : "data drawn from each case's seed, or stored with it";
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// What the case's own options change in those of an option set, in words: its label doesn't say it. "" where nothing.
std::string set_by_case(const corpus::Case& test_case, const std::string& options_json) {
  const core::Result<converters::Options> asked = converters::options_from_json(options_json);
  if (!asked || test_case.steps.empty()) return "";
  core::Result<converters::Options> used = converters::options_from_json(test_case.options_json, *asked);
  if (used) used = converters::options_from_json(test_case.steps.back().options_json, converters::Options(*used));
  if (!used) return "";
  const auto before = nlohmann::ordered_json::parse(converters::options_to_json(*asked));
  const auto after = nlohmann::ordered_json::parse(converters::options_to_json(*used));
  std::vector<std::string> changed;
  for (const auto& [key, value] : after.items()) {
    if (before.contains(key) && before[key] == value) continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    changed.push_back(key == "precision" ? fmt::format("the precision of {}", core::join(keys_of(value), ", "))
                                         : key + " " + text);
  }
  return changed.empty() ? "" : "the case sets " + core::join(changed, ", ");
}

RunOutput::Words output_words(const RunArguments& arguments, const run::RunConfig& config) {
  const RunArguments defaults;
  RunOutput::Words words;
  words.detail = arguments.quiet     ? RunOutput::Detail::last_line
                 : arguments.verbose ? RunOutput::Detail::everything
                                     : RunOutput::Detail::usual;
  if (arguments.artifact.given()) words.judged = "artifact " + arguments.artifact.file;
  words.changed_by = changed_by(arguments.converters);
  words.selection = fmt::format("{} ({})", core::counted(config.items.size(), "case"), config.suite);
  words.data = data_words(config.items);
  const bool elsewhere = arguments.database != defaults.database;
  words.database = elsewhere ? " --db " + shell_quoted(arguments.database) : "";
  words.repeat = [&arguments](const run::RunReport& report, const results::ResultRow& row) {
    return repeat_command(arguments, report, row);
  };
  words.graph = [&items = config.items](const results::ResultRow& row) -> const model::Graph* {
    const auto item = std::ranges::find(items, row.key.case_name, [](const auto& each) { return each.test_case.name; });
    return item == items.end() || item->test_case.model == nullptr ? nullptr : &item->test_case.model->graph;
  };
  std::map<std::pair<std::string, std::string>, std::string> set;
  for (const run::RunItem& item : config.items) {
    for (const corpus::OptionSet& options : item.option_sets) {
      set[{item.test_case.name, options.label}] = set_by_case(item.test_case, options.options_json);
    }
  }
  words.set_by_case = [set = std::move(set)](const results::ResultRow& row) {
    const auto found = set.find({row.key.case_name, row.key.options});
    return found == set.end() ? std::string() : found->second;
  };
  return words;
}

/// The ready artifact instead of a conversion of the one case that is selected, under the options that it requires.
core::Status take_artifact(const RunArguments& arguments, run::RunConfig& config) {
  if (config.items.size() != 1) {
    return core::usage_error(
        fmt::format("--artifact is what a converter made of one case's model, and {} selected; name one",
                    core::counted(config.items.size(), "case is", "cases are")));
  }
  run::RunItem& item = config.items.front();
  if (item.test_case.model == nullptr) {
    return core::usage_error(
        fmt::format("\"{}\" has no model here that an artifact could be made of", item.test_case.name));
  }
  std::error_code code;
  if (!std::filesystem::is_regular_file(arguments.artifact.file, code)) {
    return core::usage_error(fmt::format("artifact \"{}\" is not a readable file", arguments.artifact.file));
  }
  const std::string& stated = arguments.artifact.made_by.empty() ? item.test_case.made_by : arguments.artifact.made_by;
  core::Result<run::MadeBy> made_by = run::made_by(stated);
  if (!made_by) return made_by.error();
  const core::Result<converters::Options> required = converters::options_from_json(item.test_case.options_json);
  if (!required) return required.error();
  if (arguments.options.empty()) item.option_sets = {{converters::options_label(*required), "{}"}};
  item.test_case.metamorphic.clear();  // nothing is converted
  config.artifact = arguments.artifact.file;
  config.made_by = *std::move(made_by);
  config.converters.clear();
  return core::success();
}

/// Whether the verdict says something of the converter: it was compared with limits, failed, or refused as it should.
bool is_judged(const results::ResultRow& row) {
  using judge::Verdict;
  const std::optional<Verdict> verdict = judge::parse_verdict(row.verdict);
  constexpr std::array kNone{Verdict::unsupported, Verdict::skipped, Verdict::not_run, Verdict::unjudged,
                             Verdict::mistrusted};
  return verdict && std::ranges::find(kNone, *verdict) == kNone.end();
}

int run_command(const RunArguments& given) {
  RunArguments arguments = given;
  run::RunConfig config;
  if (const std::optional<int> failed = configure(arguments, config)) {
    return *failed;
  }
  config.command = whole_command(arguments, config.suite, artifact_words(arguments.artifact));
  if (!arguments.shard.empty()) config.command += " --shard " + arguments.shard;
  config.database = arguments.database;
  config.jobs = arguments.jobs;
  if (arguments.artifact.given()) {
    if (const core::Status taken = take_artifact(arguments, config); !taken) return report_error(taken.error());
  }
  config.resume = arguments.resume;
  if (!parse_shard(arguments.shard, config)) {
    return report_error(
        core::usage_error(fmt::format("--shard takes i/n with 1 <= i <= n, not \"{}\"", arguments.shard)));
  }
  const auto is_away = [](const programs::ConverterSpec& spec) { return !spec.unavailable.empty(); };
  if (arguments.skip_unavailable && !arguments.json && !config.converters.empty() &&
      std::ranges::all_of(config.converters, is_away)) {
    print(stderr, "assay: nothing is run: {}\n", config.converters.front().unavailable);
    return static_cast<int>(run::ExitCode::skip);
  }
  RunOutput output(output_words(arguments, config), Terminal::of(stdout), Terminal::of(stderr));
  if (arguments.json) {
    config.on_result = [progress = std::make_shared<Progress>(Terminal::of(stderr))](
                           const results::ResultRow& row, std::size_t done, std::size_t planned) {
      progress->step(done, planned, row.key.case_name);
      if (done == planned) progress->clear();
    };
  } else {
    config.on_begun = [&](const auto& programs, std::size_t planned) { output.begin(programs, planned); };
    config.on_result = [&](const auto& row, std::size_t done, std::size_t planned) {
      output.verdict(row, done, planned);
    };
  }
  config.stops = stop_on_signal();
  core::Result<run::RunReport> report = run::run(config);
  output.clear();
  if (!report) {
    const int code = report_error(report.error());
    return report.error().kind == core::ErrorKind::io ? kExitOwnFault : code;
  }
  if (report->planned == 0) {
    return report_unmatched("nothing is selected: no case, converter or option set matches");
  }
  if (arguments.json) {
    print("{}\n", report::run_json(*report));
  } else {
    output.end(*report);
  }
  if (report->rows.size() < report->planned) {
    print(stderr, "assay: stopped by a signal: {} of {} recorded; the same command with --resume finishes the run\n",
          report->rows.size(), core::counted(report->planned, "verdict is", "verdicts are"));
  }
  const int code = run::exit_code(*report);
  if (code == kExitOk) {
    if (const core::Status apply = check_faults_apply(arguments.converters, config.items); !apply) {
      return report_error(apply.error());
    }
  }
  const bool nothing_ran = std::ranges::all_of(report->rows, [](const results::ResultRow& row) {
    return row.verdict == judge::verdict_name(judge::Verdict::unsupported);
  });
  if (code == kExitOk && nothing_ran && arguments.skip_unavailable) return static_cast<int>(run::ExitCode::skip);
  if (const auto judged = static_cast<std::size_t>(std::ranges::count_if(report->rows, is_judged));
      judged < arguments.min_judged && (code == kExitOk || code == kExitDrift)) {
    print(stderr,
          "assay: {} of {} judged, and --min-judged asks for {}: select other cases, or see the reasons above\n",
          judged, core::counted(report->rows.size(), "verdict was", "verdicts were"), arguments.min_judged);
    return kExitIncomplete;
  }
  if (code != kExitOk || !nothing_ran) return code;
  print(stderr,
        "assay: every verdict is unsupported, so nothing was judged. Where the reason is an option, give one that the "
        "converter takes, as in --options '{{\"per_axis\":false}}'. With --min-judged 1 the exit code is 5 then, with "
        "--skip-unavailable 77\n");
  return code;
}

}  // namespace

void register_run(Command app, Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  const Command command = app.add_subcommand("run", "Run cases through converters, judge and record every verdict");
  RunRequestOptions request = add_run_request(command, *arguments);
  add_artifact_options(command, arguments->artifact);
  request.executors.excludes({"--artifact"});
  request.metamorphic.excludes({"--artifact"});
  command.add_option("--db", arguments->database, "Results database");
  command.add_option("--jobs", arguments->jobs, "Cases that are converted at a time; 0: one per core")
      .check(Check::non_negative);
  command.add_option("--shard", arguments->shard, "Only part i of n, as i/n");
  command.add_option("--min-judged", arguments->min_judged,
                     "Exit code 5 where fewer verdicts were judged: unsupported and unjudged ones don't count");
  command.add_flag("--resume", arguments->resume, "Finish the newest unfinished run of the same selection");
  command.add_flag("--skip-unavailable", arguments->skip_unavailable,
                   "Exit code 77, which a test runner counts as skipped, where every verdict is unsupported; of one "
                   "case it is 77 without this flag too");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.add_flag("-v,--verbose", arguments->verbose, "A line for every verdict, not only for what is red");
  command.add_flag("-q,--quiet", arguments->quiet, "Only the last line").excludes({"--verbose", "--json"});
  command.callback([arguments, &action] { action = [arguments] { return run_command(*arguments); }; });
}

}  // namespace assay::cli
