#include "results/drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/recorded.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "harness/report/drift.hpp"

namespace assay::cli {
namespace {

struct DriftArguments {
  std::string converter;
  std::string from;
  std::string to = "newest";
  std::string database = ".assay/history.db";
  bool json = false;
};

/// Every version before `to`, and after `from` where it is one; oldest first.
std::vector<std::string> between(const DriftArguments& arguments, const std::string& to,
                                 const std::vector<std::string>& known) {
  std::vector<std::string> versions;
  for (const std::string& version : known) {
    const bool after = arguments.from.empty() || core::version_less(arguments.from, version);
    if (after && core::version_less(version, to)) versions.push_back(version);
  }
  return versions;
}

core::Result<int> compare_versions(const DriftArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return store.error();
  }
  const core::Result<std::vector<std::string>> known = store->versions(arguments.converter);
  if (!known) {
    return known.error();
  }
  if (known->empty()) {
    return core::usage_error(
        fmt::format("\"{}\" has no verdicts of converter \"{}\"; `assay run --converter {}` makes some",
                    arguments.database, arguments.converter, arguments.converter));
  }
  const std::string to = arguments.to == "newest" ? known->back() : arguments.to;
  for (const std::string& version : {to, arguments.from.empty() ? to : arguments.from}) {
    if (core::Status status = check_version(version, arguments.database, arguments.converter, *known); !status) {
      return status.error();
    }
  }
  if (arguments.from == to) {
    return core::usage_error(
        fmt::format("--from and --to are both {}; \"{}\" has: {}", to, arguments.database, core::join(*known, ", ")));
  }
  const core::Result<std::vector<results::AnchorRow>> anchors =
      baseline(*store, arguments.database, arguments.converter, arguments.from);
  const core::Result<std::vector<results::ResultRow>> verdicts = store->newest_results(arguments.converter, to);
  if (!anchors || !verdicts) return !anchors ? anchors.error() : verdicts.error();
  results::DriftReport report = results::compare_to_anchors(*anchors, *verdicts);
  if (const auto traced = results::trace_back(report, *store, between(arguments, to, *known)); !traced) {
    return traced.error();
  }
  const std::string from = arguments.from.empty() ? "accepted anchors" : arguments.from;
  if (arguments.json) {
    nlohmann::ordered_json json{{"converter", arguments.converter}, {"from", from}, {"to", to}};
    json.update(report::drift_json(report));
    print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print("{}", report::drifted_text(report));
    print("{}{}", report::families_table(report), report::suites_text(report));
    print(
        "{} {} → {}: {} compared, {} changed{}; {} with nothing to be compared to ({} of them edited), {} without a "
        "counterpart at {}\n",
        arguments.converter, from, to, core::counted(report.compared, "verdict"), report.drifted.size(),
        report.drifted.empty() ? "" : " (" + report::verdict_changes(report) + ")", report.without, report.edited,
        report.unmet, to);
  }
  return report.compared == 0 ? kExitIncomplete : report.any() ? kExitDrift : kExitOk;
}

int drift_command(const DriftArguments& arguments) {
  const core::Result<int> code = compare_versions(arguments);
  return code ? *code : report_error(code.error());
}

}  // namespace

void register_drift(Command app, Action& action) {
  auto arguments = std::make_shared<DriftArguments>();
  const Command command = app.add_subcommand(
      "drift", "Compare what is recorded of two versions of a converter; exit code 4 when it drifted");
  command.add_option("--converter", arguments->converter, "Converter, NAME").required();
  command.add_option("--from", arguments->from,
                     "Version: what was accepted of it, else its newest verdicts (default: all accepted anchors)");
  command.add_option("--to", arguments->to, "Version, or newest");
  command.add_option("--db", arguments->database, "Results database");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return drift_command(*arguments); }; });
}

}  // namespace assay::cli
