#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/recorded.hpp"
#include "harness/core/counted.hpp"
#include "harness/suites/draft_expected.hpp"

namespace assay::cli {
namespace {

constexpr const char* kNewest = "newest";

struct ExpectArguments {
  std::string run = kNewest;
  std::string converter;
  std::string database = ".assay/history.db";
};

/// An entry as a suite holds it; keys that say nothing are left out, but for the url that somebody has to find.
nlohmann::ordered_json entry_json(const corpus::ExpectedFailure& entry) {
  nlohmann::ordered_json json{{"case", entry.case_pattern}, {"converter", entry.converter}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) {
      json[key] = value;
    }
  };
  add("options", entry.options);
  add("versions", entry.versions);
  add("stage", entry.stage);
  add("facet", entry.facet);
  json["reason"] = entry.reason;
  json["url"] = entry.url;
  if (entry.margin && std::isfinite(*entry.margin)) {
    constexpr double kHundredths = 100;
    json["margin"] = std::ceil(*entry.margin * kHundredths) / kHundredths;
  }
  return json;
}

int expect_command(const ExpectArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return report_error(store.error());
  }
  const std::string wanted = arguments.run == kNewest ? "" : arguments.run;
  const core::Result<results::RunInfo> run = find_run(*store, arguments.database, wanted, arguments.converter);
  if (!run) {
    return report_error(run.error());
  }
  core::Result<std::vector<results::ResultRow>> rows = store->results(run->id);
  if (!rows) {
    return report_error(rows.error());
  }
  std::erase_if(*rows, [&](const results::ResultRow& row) { return !by_converter(row.key, arguments.converter); });
  const std::vector<corpus::ExpectedFailure> entries = suites::draft_expected(*rows);
  for (const corpus::ExpectedFailure& entry : entries) {
    print("    {}{}\n", entry_json(entry).dump(), &entry == &entries.back() ? "" : ",");
  }
  print(stderr,
        "{} for the red verdicts of run {} (\"{}\"). Before going into a suite's \"expected_failures\", each needs a "
        "\"url\" that says where it is explained; `assay lint` checks them\n",
        core::counted(entries.size(), "entry", "entries"), run->id, run->command);
  return kExitOk;
}

}  // namespace

void register_expect(Command app, Action& action) {
  auto arguments = std::make_shared<ExpectArguments>();
  const Command command =
      app.add_subcommand("expect", "Draft a suite's expected failures from the red verdicts of a run");
  command.add_option("--from", arguments->run, "The run's UUID, or newest: the newest complete run");
  command.add_option("--converter", arguments->converter, "Only this converter's verdicts, NAME[@VERSION]");
  command.add_option("--db", arguments->database, "Results database");
  command.callback([arguments, &action] { action = [arguments] { return expect_command(*arguments); }; });
}

}  // namespace assay::cli
