#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/recorded.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/report/history.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

struct HistoryArguments {
  std::string pattern = "*";
  std::string database = ".assay/history.db", converter, since;
  bool json = false, everything = false, changed = false;
};

using results::JobKey;

/// The converter versions, "NAME@VERSION", behind which several programs stood.
std::map<std::string, std::set<std::string>> programs_of(const std::vector<results::Store::HistoryRow>& rows) {
  std::map<std::string, std::set<std::string>> programs;
  for (const results::Store::HistoryRow& row : rows) {
    const JobKey& key = row.result.key;
    if (!key.hash.empty()) {
      programs[key.converter + "@" + key.version].insert(key.hash);
    }
  }
  std::erase_if(programs, [](const auto& each) { return each.second.size() < 2; });
  return programs;
}

/// The recorded names nearest to a pattern that matches none.
std::string near_it(results::Store& store, const std::string& pattern) {
  const core::Result<std::vector<std::string>> names = store.case_names();
  if (!names || names->empty()) return "; nothing is recorded yet";
  return "; near it: " + core::join(core::nearest(pattern, *names), ", ");
}

int history_command(const HistoryArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return report_error(store.error());
  }
  core::Result<std::vector<results::Store::HistoryRow>> rows = store->history(arguments.pattern);
  if (!rows) {
    return report_error(rows.error());
  }
  if (rows->empty()) {
    return report_unmatched(
        fmt::format("no recorded case matches \"{}\"{}", arguments.pattern, near_it(*store, arguments.pattern)));
  }
  std::erase_if(*rows, [&](const auto& row) { return !by_converter(row.result.key, arguments.converter); });
  if (rows->empty()) {
    return report_unmatched(
        fmt::format("no verdict of {} is recorded of \"{}\"", arguments.converter, arguments.pattern));
  }
  const std::size_t series = report::series_count(*rows);
  if (!arguments.since.empty()) {
    rows = report::became_so_since(*rows, arguments.since);
    if (rows->empty() && !arguments.json) {
      print("of {} none has become what it is since {}\n", core::counted(series, "series", "series"), arguments.since);
      return kExitOk;
    }
  }
  if (arguments.changed) rows = report::changed_versions(*rows);
  const auto programs = programs_of(*rows);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const results::Store::HistoryRow& row : *rows) {
    if (arguments.json) {
      json.push_back(report::history_json(row));
    } else if (arguments.everything) {
      const JobKey& key = row.result.key;
      print("{}\n", report::history_line(row, programs.contains(key.converter + "@" + key.version)));
    }
  }
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"history", json}}.dump());
    return kExitOk;
  }
  std::set<std::string> cases;
  for (const results::Store::HistoryRow& row : *rows) cases.insert(row.result.key.case_name);
  if (!arguments.everything && !arguments.changed) print("{}", report::history_summary(*rows));
  for (const auto& [name, hashes] : programs) {
    print("{} was {} different programs, or had other arguments\n", name, hashes.size());
  }
  if (arguments.everything || arguments.changed || cases.size() == 1) {
    print("{}", report::history_plots(*rows));
  } else {
    print("{} of {}; -v lists every verdict and plots each series\n", core::counted(rows->size(), "verdict"),
          core::counted(cases.size(), "case"));
  }
  if (arguments.changed) print("{} of {} series changed\n", report::series_count(*rows), series);
  return kExitOk;
}

}  // namespace

void register_history(Command app, Action& action) {
  auto arguments = std::make_shared<HistoryArguments>();
  const Command command =
      app.add_subcommand("history", "Show since when the recorded cases are as they are, and plot one case by version");
  command.add_option("pattern", arguments->pattern, "Pattern on case names");
  command.add_option("--db", arguments->database, "Results database");
  command.add_option("--converter", arguments->converter, "Only verdicts of this converter, NAME or NAME@VERSION");
  command.add_option(
      "--since", arguments->since,
      "Only the series that have been as they are now since this version or a later one, and weren't before");
  command.add_flag("-v,--verbose", arguments->everything, "Every recorded verdict, oldest first, and every plot");
  command.add_flag("--changed", arguments->changed,
                   "Only the series that changed, and of these only the versions at which they did");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return history_command(*arguments); }; });
}

}  // namespace assay::cli
