#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print_history.hpp"
#include "harness/run/program_hash.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::string pattern = "*";
  std::string database = ".assay/history.db";
  bool json = false;
};

nlohmann::ordered_json row_json(const results::Store::HistoryRow& row) {
  nlohmann::ordered_json json;
  json["started_at"] = row.run.started_at;
  json["run"] = row.run.id;
  json["case"] = row.result.key.case_name;
  json["case_hash"] = row.result.case_hash;
  json["options"] = row.result.key.options;
  json["converter"] = row.result.key.converter;
  json["version"] = row.result.key.version;
  json["converter_hash"] = row.result.key.hash;
  json["verdict"] = row.result.verdict;
  json["facet"] = row.result.facet;
  json["sqnr_db"] = row.result.sqnr_db ? nlohmann::ordered_json(*row.result.sqnr_db) : nullptr;
  json["margin"] = row.result.margin ? nlohmann::ordered_json(*row.result.margin) : nullptr;
  return json;
}

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

std::string row_text(const results::Store::HistoryRow& row, bool with_program) {
  std::string text =
      fmt::format("{}  {:<13} {}  {}  {}@{}", row.run.started_at, row.result.verdict, row.result.key.case_name,
                  row.result.key.options, row.result.key.converter, row.result.key.version);
  if (row.result.sqnr_db) {
    text += fmt::format("  {:.2f} dB", *row.result.sqnr_db);
  }
  if (row.result.margin) {
    text += fmt::format("  margin {:.3g}", *row.result.margin);
  }
  if (with_program) {
    text += "  program " + (row.result.key.hash.empty() ? "unknown" : run::short_hash(row.result.key.hash));
  }
  return text;
}

int history_command(const Arguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return report_error(store.error());
  }
  const core::Result<std::vector<results::Store::HistoryRow>> rows = store->history(arguments.pattern);
  if (!rows) {
    return report_error(rows.error());
  }
  if (rows->empty()) {
    return report_error(
        {core::ErrorKind::usage, fmt::format("no recorded case matches \"{}\"", arguments.pattern), {}, {}, {}});
  }
  const auto programs = programs_of(*rows);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const results::Store::HistoryRow& row : *rows) {
    if (arguments.json) {
      json.push_back(row_json(row));
    } else {
      const JobKey& key = row.result.key;
      fmt::print("{}\n", row_text(row, programs.contains(key.converter + "@" + key.version)));
    }
  }
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"history", json}}.dump());
  } else {
    for (const auto& [name, hashes] : programs) {
      fmt::print("{} was {} different programs, or had other arguments\n", name, hashes.size());
    }
    fmt::print("{}", history_plots(*rows));
  }
  return kExitOk;
}

}  // namespace

void register_history(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("history", "Show the recorded series of cases, oldest first, and plot them by version");
  command->add_option("pattern", arguments->pattern, "Pattern on case names");
  command->add_option("--db", arguments->database, "Results database");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments, &action] { action = [arguments] { return history_command(*arguments); }; });
}

}  // namespace assay::cli
