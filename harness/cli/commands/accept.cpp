#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/recorded.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/program_hash.hpp"
#include "results/drift.hpp"

namespace assay::cli {
namespace {

using results::JobKey;
using results::ResultRow;

struct AcceptArguments {
  std::vector<std::string> words;
  std::string converter;
  std::string run;
  std::string reason;
  std::string database = ".assay/history.db";
};

/// Case names that a suite selects; empty where `word` is no suite.
core::Result<std::set<std::string>> names_of_suite(const std::string& word) {
  std::set<std::string> names;
  const std::vector<std::string> suites = corpus::suite_names();
  if (std::find(suites.begin(), suites.end(), word) == suites.end()) {
    return names;
  }
  const core::Result<corpus::Suite> suite = corpus::load_suite(word);
  const core::Result<std::vector<corpus::Case>> cases = corpus::load_corpus();
  if (!suite || !cases) {
    return suite ? cases.error() : suite.error();
  }
  const core::Result<std::vector<corpus::Case>> selected = corpus::select_cases(*suite, *cases);
  if (!selected) {
    return selected.error();
  }
  for (const corpus::Case& each : *selected) {
    names.insert(each.name);
  }
  return names;
}

/// The verdicts that the words select; all where there is no word.
core::Result<std::vector<ResultRow>> selected(const std::vector<ResultRow>& rows, const AcceptArguments& arguments) {
  std::vector<bool> wanted(rows.size(), arguments.words.empty());
  for (const std::string& word : arguments.words) {
    const core::Result<std::set<std::string>> names = names_of_suite(word);
    if (!names) {
      return names.error();
    }
    bool any = false;
    std::set<std::string> families;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string& name = rows[i].key.case_name;
      families.insert(rows[i].family);
      const bool matches = names->contains(name) || rows[i].family == word || core::glob_match(word, name);
      wanted[i] = wanted[i] || matches;
      any = any || matches;
    }
    if (!any) {
      const std::vector<std::string> all(families.begin(), families.end());
      return core::usage_error(fmt::format("\"{}\" matches no verdict of the run; families near it: {}", word,
                                           core::join(core::nearest(word, all), ", ")));
    }
  }
  std::vector<ResultRow> chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (wanted[i] && results::comparable(rows[i]) && by_converter(rows[i].key, arguments.converter)) {
      chosen.push_back(rows[i]);
    }
  }
  return chosen;
}

/// Errors   usage, where two programs that call themselves the same have a verdict each: a series has one anchor, and
///          nobody but the user knows which of them is right.
core::Status check_series(const std::vector<ResultRow>& rows, const std::string& run) {
  std::map<JobKey, std::string> programs;
  for (const ResultRow& row : rows) {
    JobKey series = row.key;
    series.hash.clear();
    const auto [first, added] = programs.emplace(std::move(series), row.key.hash);
    if (!added) {
      return core::usage_error(fmt::format(
          "run {} has two verdicts of {} by {} {}, of the programs {} and {}: a series has one anchor; run the program "
          "that is right by itself and accept that run",
          run, row.key.case_name, row.key.converter, row.key.version, programs::short_hash(first->second),
          programs::short_hash(row.key.hash)));
    }
  }
  return core::success();
}

core::Status accept(const AcceptArguments& arguments) {
  if (arguments.reason.find_first_not_of(" \t\n") == std::string::npos) {
    return core::usage_error("--reason is empty; say why these results are right, for whoever reads the history");
  }
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return store.error();
  }
  const core::Result<results::RunInfo> run = find_run(*store, arguments.database, arguments.run, arguments.converter);
  if (!run) {
    return run.error();
  }
  const core::Result<std::vector<ResultRow>> rows = store->results(run->id);
  if (!rows) {
    return rows.error();
  }
  const core::Result<std::vector<ResultRow>> chosen = selected(*rows, arguments);
  if (!chosen) {
    return chosen.error();
  }
  if (chosen->empty()) {
    return core::usage_error(
        fmt::format("run {} has no verdict that can be accepted: none says something about the converter", run->id));
  }
  if (core::Status status = check_series(*chosen, run->id); !status) {
    return status;
  }
  std::vector<JobKey> keys;
  std::map<std::string, std::size_t> verdicts, converters;
  for (const ResultRow& row : *chosen) {
    keys.push_back(row.key);
    ++verdicts[row.verdict];
    ++converters[row.key.converter + "@" + row.key.version];
  }
  if (core::Status status = store->accept(run->id, keys, arguments.reason); !status) {
    return status;
  }
  const auto counts = [](const std::map<std::string, std::size_t>& map) {
    std::vector<std::string> parts;
    parts.reserve(map.size());
    for (const auto& [name, count] : map) {
      parts.push_back(fmt::format("{} {}", count, name));
    }
    return core::join(parts, ", ");
  };
  print("run {} of {} (\"{}\"): {} now: {}; {}\n", run->id, run->started_at, run->command,
        core::counted(keys.size(), "verdict is an anchor", "verdicts are anchors"), counts(converters),
        counts(verdicts));
  return core::success();
}

int accept_command(const AcceptArguments& arguments) {
  const core::Status status = accept(arguments);
  return status ? kExitOk : report_error(status.error());
}

}  // namespace

void register_accept(Command app, Action& action) {
  auto arguments = std::make_shared<AcceptArguments>();
  const Command command =
      app.add_subcommand("accept", "Make a run's verdicts the anchors that later runs are compared to");
  command.add_option("selection", arguments->words, "Suites and patterns on case names (default: the whole run)");
  command.add_option("--converter", arguments->converter, "Only this converter's verdicts, NAME[@VERSION]");
  command.add_option("--run", arguments->run, "The run's UUID (default: the newest complete run)");
  command.add_option("--reason", arguments->reason, "Why these results are right; kept with them").required();
  command.add_option("--db", arguments->database, "Results database");
  command.callback([arguments, &action] { action = [arguments] { return accept_command(*arguments); }; });
}

}  // namespace assay::cli
