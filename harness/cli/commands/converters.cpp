#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/script.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/confinement.hpp"
#include "harness/programs/environments.hpp"
#include "harness/programs/protocol_check.hpp"

namespace assay::cli {
namespace {

struct ConvertersArguments {
  std::string name;
  ConverterOptions converters;
  double timeout_s = 60;
  bool json = false, unlocked = false;
};

int list_converters(const ConvertersArguments& arguments) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  json.push_back({{"name", "embedded"}, {"installed", {"built in"}}, {"notes", "Assay's own INT8 converter"}});
  for (const programs::Adapter& adapter : programs::list_adapters()) {
    json.push_back({{"name", adapter.name}, {"installed", adapter.installed}, {"notes", adapter.notes}});
    for (const auto& [variant, what] : adapter.variants) {
      json.push_back({{"name", adapter.name + ":" + variant}, {"installed", adapter.installed}, {"notes", what}});
    }
  }
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"converters", json}}.dump());
    return kExitOk;
  }
  for (const auto& entry : json) {
    const auto installed = entry["installed"].get<std::vector<std::string>>();
    print("{:<16} {:<24} {}\n", entry["name"].get<std::string>(),
          installed.empty() ? "not installed" : core::join(installed, ", "), entry["notes"].get<std::string>());
  }
  return kExitOk;
}

/// One requirement of the protocol in a line, with what was wrong below it.
std::string requirement_text(const programs::Requirement& requirement) {
  std::string text = fmt::format("{:<8} {}\n", core::word_of(requirement.met), requirement.what);
  if (!requirement.why.empty()) text += fmt::format("         {}\n", requirement.why);
  if (requirement.met == programs::Met::failed) {
    text += fmt::format("         docs/protocol.md, \"{}\"\n", requirement.section);
  }
  return text;
}

int test_converter(const ConvertersArguments& arguments) {
  const auto specs = resolve_converters(arguments.converters, {});
  if (!specs) return report_error(specs.error());
  if (specs->size() != 1) {
    return report_error({core::ErrorKind::usage,
                         "converters test takes one converter: --converter-cmd \"PROGRAM ARGS\" or --converter NAME",
                         {},
                         {},
                         {}});
  }
  const programs::ConverterSpec& spec = specs->front();
  if (!spec.unavailable.empty()) return report_error({core::ErrorKind::usage, spec.unavailable, {}, {}, {}});
  const auto met = programs::check_protocol(spec, arguments.timeout_s);
  if (!met) return report_error(met.error());
  std::map<programs::Met, std::size_t> counts;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const programs::Requirement& requirement : *met) {
    ++counts[requirement.met];
    json.push_back({{"requirement", requirement.what},
                    {"section", requirement.section},
                    {"met", core::word_of(requirement.met)},
                    {"why", requirement.why}});
    if (!arguments.json) print("{}", requirement_text(requirement));
  }
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"requirements", json}}.dump(
                      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print("{} requirements of protocol 1: {} ok, {} FAILED, {} skipped\n", met->size(), counts[programs::Met::ok],
          counts[programs::Met::failed], counts[programs::Met::skipped]);
    if (counts[programs::Met::not_tested] != 0) print("NOT TESTED: {}\n", counts[programs::Met::not_tested]);
  }
  if (counts[programs::Met::failed] != 0) {
    if (spec.rights.confined) print(stderr, "assay: {}\n", programs::kSandboxHint);
    return kExitRed;
  }
  return counts[programs::Met::not_tested] != 0 ? kExitIncomplete : kExitOk;
}

int install(const ConvertersArguments& arguments) {
  std::vector<std::string> words{"python3", (corpus::home() / "converters" / "adapters" / "install.py").string(),
                                 arguments.name, "--root", programs::environments_folder().string()};
  if (arguments.unlocked) words.emplace_back("--unlocked");
  return run_script(words);
}

bool remove_all(const std::vector<programs::Environment>& environments) {
  for (const programs::Environment& environment : environments) {
    if (const std::string fault = programs::remove_environment(environment); !fault.empty()) {
      print(stderr, "assay: {} can't be removed: {}\n", environment.name, fault);
      return false;
    }
    print("removed {}\n", environment.name);
  }
  return true;
}

int remove_converter(const ConvertersArguments& arguments) {
  const std::size_t at = arguments.name.find("==");
  const std::string name = arguments.name.substr(0, at);
  std::vector<programs::Environment> wanted;
  const std::optional<programs::Adapter> adapter = programs::find_adapter(name);
  for (const std::string& version : adapter ? adapter->installed : std::vector<std::string>()) {
    if (at == std::string::npos || version == arguments.name.substr(at + 2)) {
      wanted.push_back({name + "-" + version, {}});
    }
  }
  if (wanted.empty()) {
    return report_error({core::ErrorKind::usage,
                         fmt::format("\"{}\" is not installed; nothing to remove", arguments.name),
                         {},
                         {},
                         {}});
  }
  const bool removed = remove_all(wanted) && remove_all(programs::unused_layers());
  return removed ? kExitOk : kExitOwnFault;
}

}  // namespace

void register_converters(Command app, Action& action) {
  auto arguments = std::make_shared<ConvertersArguments>();
  const Command command = app.add_subcommand("converters", "List, install, remove and test outside converters");
  command.require_subcommand();
  const Command list = command.add_subcommand("list", "What exists and which versions are installed");
  list.add_flag("--json", arguments->json, "Print one JSON object");
  list.callback([arguments, &action] { action = [arguments] { return list_converters(*arguments); }; });
  const Command add = command.add_subcommand("install", "Install a converter into a virtual environment of its own");
  add.add_option("name", arguments->name, "NAME or NAME==VERSION").required();
  add.add_flag("--unlocked", arguments->unlocked,
               "Take what the package index has now, not the files whose checksums Assay keeps");
  add.callback([arguments, &action] { action = [arguments] { return install(*arguments); }; });
  const Command remove =
      command.add_subcommand("remove", "Remove a converter's virtual environments, and layers that nobody needs then");
  remove.add_option("name", arguments->name, "NAME or NAME==VERSION").required();
  const Command test = command.add_subcommand(
      "test", "Ask a converter what protocol 1 requires, and say how each requirement is met (docs/protocol.md)");
  add_converter_options(test, arguments->converters);
  test.add_option("--timeout", arguments->timeout_s, "Seconds for one answer").check(Check::positive);
  test.add_flag("--json", arguments->json, "Print one JSON object");
  test.callback([arguments, &action] { action = [arguments] { return test_converter(*arguments); }; });
  remove.callback([arguments, &action] { action = [arguments] { return remove_converter(*arguments); }; });
}

}  // namespace assay::cli
