#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/selection.hpp"
#include "harness/corpus/write_case.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::vector<std::string> words;
  std::vector<std::string> only;
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
    entry["origin"] = corpus::origins_json(test_case);
    entry["kills"] = test_case.kills;
    entry["options"] = nlohmann::ordered_json::array();
    for (const corpus::OptionSet& set : item.option_sets) entry["options"].push_back(set.label);
    json["cases"].push_back(std::move(entry));
  }
  return json.dump();
}

int list_command(const Arguments& arguments) {
  const core::Result<Selection> selection = select(arguments.words, "", arguments.only);
  if (!selection) {
    return report_error(selection.error());
  }
  if (!selection->unmatched.empty()) {
    return report_unmatched(selection->unmatched);
  }
  if (arguments.json) {
    fmt::print("{}\n", list_json(*selection));
    return kExitOk;
  }
  for (const run::RunItem& item : selection->items) {
    fmt::print("{}\n", item.test_case.name);
  }
  return kExitOk;
}

}  // namespace

void register_list(Command app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.add_subcommand("list", "List the cases of suites or patterns");
  command.add_option("selection", arguments->words, "Suites and patterns on case names (default: suite default)");
  command.add_option("--only", arguments->only, "Of these, only the cases that this pattern matches; may be repeated")
      .allow_extra_args(false);
  command.add_flag("--json", arguments->json, "Print one JSON object with families, tags, origins and option sets");
  command.callback([arguments, &action] { action = [arguments] { return list_command(*arguments); }; });
}

}  // namespace assay::cli
