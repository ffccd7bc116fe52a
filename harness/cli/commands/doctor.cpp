#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "converters/embedded/support.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/environments.hpp"
#include "harness/programs/subject.hpp"
#include "harness/report/operators_page.hpp"
#include "reference/op.hpp"
#include "results/machine.hpp"

namespace assay::cli {
namespace {

struct DoctorArguments {
  bool json = false;
  bool operators = false;
};

/// One thing that works here or not, and why.
struct Finding {
  std::string what, state, detail;
  bool usable = true;
};

Finding describe_converter(const programs::ConverterSpec& spec) {
  const std::string name = spec.version.empty() ? spec.name : spec.name + "@" + spec.version;
  if (!spec.unavailable.empty()) {
    return {"converter " + name, "not installed", spec.unavailable, false};
  }
  const core::Result<converters::Description> description = programs::start_client(spec, {})->describe();
  if (!description) {
    return {"converter " + name, "broken", description.error().message, false};
  }
  if (!description->unavailable.empty()) {
    return {"converter " + name, "installed",
            fmt::format("{} {} can't run here: {}", description->name, description->version, description->unavailable),
            false};
  }
  return {"converter " + name, "usable",
          fmt::format("{} {}, artifact {}", description->name, description->version,
                      core::word_of(description->supports.artifact)),
          true};
}

std::vector<Finding> examine() {
  std::vector<Finding> findings;
  const results::Machine machine = results::this_machine();
  findings.push_back({"cores", std::to_string(machine.cores), machine.cpu, true});
  findings.push_back({"instructions", machine.features, "", true});
  if (!machine.accelerators.empty()) findings.push_back({"accelerators", machine.accelerators, "", true});
  findings.push_back({"sandbox", core::can_confine() ? "possible" : "not possible",
                      core::can_confine() ? "" : "the kernel has no Landlock, or it is switched off", true});
  findings.push_back({"sqlite", sqlite3_libversion(), "", true});
  findings.push_back({"reference operators", std::to_string(reference::all_operators().size()), "", true});
  const core::Result<std::vector<corpus::Case>> cases = corpus::load_corpus();
  findings.push_back(cases ? Finding{"cases", std::to_string(cases->size()), corpus::home().string(), true}
                           : Finding{"cases", "broken", cases.error().message, false});
  std::vector<std::string> names = {"embedded"};
  for (const programs::Adapter& adapter : programs::list_adapters()) {
    if (adapter.installed.empty()) {
      names.push_back(adapter.name);
    }
    for (const std::string& version : adapter.installed) {
      names.push_back(adapter.name + "@" + version);
    }
  }
  for (const std::string& name : names) {
    const auto specs = programs::parse_converter(name, corpus::own_program(), {}, "");
    if (specs) {
      findings.push_back(describe_converter(specs->front()));
    }
  }
  for (const programs::Environment& environment : programs::list_environments()) {
    constexpr double kMebi = 1024.0 * 1024.0;
    const std::string sees = environment.layers.empty() ? "" : "sees " + core::join(environment.layers, ", ");
    findings.push_back({"environment " + environment.name,
                        fmt::format("{:.0f} MiB", static_cast<double>(programs::size_of(environment)) / kMebi), sees,
                        true});
  }
  return findings;
}

int print_operators() {
  const core::Result<conformance::OperatorTable> table = conformance::operator_table(&embedded::int8_form);
  if (!table) {
    return report_error(table.error());
  }
  print("{}", report::operators_page(*table));
  return kExitOk;
}

int doctor_command(const DoctorArguments& arguments) {
  if (arguments.operators) {
    return print_operators();
  }
  const std::vector<Finding> findings = examine();
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json.push_back(
        {{"what", finding.what}, {"state", finding.state}, {"detail", finding.detail}, {"usable", finding.usable}});
    if (!arguments.json) {
      print("{:<36} {:<14} {}\n", finding.what, finding.state, finding.detail);
    }
  }
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"findings", json}}.dump());
  }
  return kExitOk;
}

}  // namespace

void register_doctor(Command app, Action& action) {
  auto arguments = std::make_shared<DoctorArguments>();
  const Command command = app.add_subcommand("doctor", "Show what is usable on this machine, and why the rest is not");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.add_flag("--operators", arguments->operators,
                   "Print docs/operators.md: every operator of the reference and what covers it");
  command.callback([arguments, &action] { action = [arguments] { return doctor_command(*arguments); }; });
}

}  // namespace assay::cli
