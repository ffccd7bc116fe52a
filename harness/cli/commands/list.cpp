#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "converters/embedded/embedded.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/write_case.hpp"

namespace assay::cli {
namespace {

struct ListArguments {
  std::vector<std::string> words;
  Narrowing narrowing;
  bool faults = false;
  bool json = false;
};

std::string list_json(const Selection& selection) {
  nlohmann::ordered_json json;
  json["cases"] = nlohmann::ordered_json::array();
  for (const run::RunItem& item : selection.items) {
    const corpus::Case& test_case = item.test_case;
    nlohmann::ordered_json entry;
    entry["case"] = test_case.name;
    entry["family"] = test_case.family;
    entry["title"] = test_case.title;
    entry["tags"] = test_case.tags;
    entry["operators"] = operators_of(test_case);
    entry["origin"] = corpus::origins_json(test_case);
    entry["kills"] = test_case.kills;
    entry["options"] = nlohmann::ordered_json::array();
    for (const corpus::OptionSet& set : item.option_sets) entry["options"].push_back(set.label);
    json["cases"].push_back(std::move(entry));
  }
  return json.dump();
}

/// The faults of the embedded converter that a pattern matches; all of them without one.
int list_faults(const ListArguments& arguments) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  std::vector<std::string> patterns = arguments.words;
  if (patterns.empty()) patterns.emplace_back("*");
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const embedded::FaultInfo& fault : embedded::fault_table()) {
      if (!core::glob_match(pattern, fault.name)) continue;
      any = true;
      json.push_back({{"fault", fault.name}, {"stage", fault.stage}, {"title", fault.title}, {"url", fault.url}});
      text += fmt::format("{:<32} {:<10} {}\n", fault.name, fault.stage, fault.title);
    }
    if (const auto known = embedded::make_embedded({pattern}); !any && !known) {
      return report_unmatched(known.error().message);
    }
  }
  print("{}", arguments.json ? nlohmann::ordered_json{{"faults", json}}.dump() + "\n" : text);
  return kExitOk;
}

int list_command(const ListArguments& arguments) {
  if (arguments.faults) return list_faults(arguments);
  const core::Result<Selection> selection = select(arguments.words, "", arguments.narrowing);
  if (!selection) {
    return report_error(selection.error());
  }
  if (!selection->unmatched.empty()) {
    return report_unmatched(selection->unmatched);
  }
  if (arguments.json) {
    print("{}\n", list_json(*selection));
    return kExitOk;
  }
  for (const run::RunItem& item : selection->items) {
    print("{}\n", item.test_case.name);
  }
  return kExitOk;
}

}  // namespace

void register_list(Command app, Action& action) {
  auto arguments = std::make_shared<ListArguments>();
  const Command command =
      app.add_subcommand("list", "List the cases of suites or patterns, or the faults that --fault takes");
  command.add_option(
      "selection", arguments->words,
      "Suites and patterns on case names (default: suite default); with --faults, patterns on their names");
  add_narrowing(command, arguments->narrowing);
  command.add_flag("--faults", arguments->faults, "The faults of the embedded converter, instead of cases");
  command.add_flag(
      "--json", arguments->json,
      "Print one JSON object: families, tags, operators, origins and option sets; or the faults with their reports");
  command.callback([arguments, &action] { action = [arguments] { return list_command(*arguments); }; });
}

}  // namespace assay::cli
