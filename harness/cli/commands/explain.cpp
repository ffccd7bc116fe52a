#include "harness/run/explain.hpp"

#include <fmt/format.h>

#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/selection.hpp"
#include "harness/report/explanation.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::string case_name, options;
  ConverterOptions converters;
  double timeout_s = 60;
  bool metamorphic = false, json = false;
};

core::Error usage(std::string message) { return {core::ErrorKind::usage, std::move(message), {}, {}, {}}; }

int explain_command(const Arguments& arguments) {
  core::Result<Selection> selection = select({arguments.case_name}, arguments.options);
  if (!selection) return report_error(selection.error());
  if (!selection->unmatched.empty()) return report_unmatched(selection->unmatched);
  if (selection->items.size() != 1) {
    return report_error(
        usage(fmt::format("\"{}\" is {} cases; explain takes one, for example \"{}\"", arguments.case_name,
                          selection->items.size(), selection->items.front().test_case.name)));
  }
  if (const core::Status named = check_fault_nodes(arguments.converters, selection->items); !named) {
    return report_error(named.error());
  }
  if (arguments.metamorphic) ask_all_relations(selection->items);
  const core::Result<std::vector<programs::ConverterSpec>> converters =
      resolve_converters(arguments.converters, selection->converters);
  if (!converters) return report_error(converters.error());
  if (converters->size() != 1) return report_error(usage("explain asks one converter, in one version"));
  const core::Result<run::ExplainedVerdict> verdict =
      run::explain_first_red(selection->items.front(), converters->front(), arguments.timeout_s);
  if (!verdict) return report_error(verdict.error());
  fmt::print("{}\n", arguments.json ? report::explanation_json(*verdict) : report::explanation_text(*verdict));
  return kExitOk;
}

}  // namespace

void register_explain(Command app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  const Command command =
      app.add_subcommand("explain", "Say in numbers why a case's verdict is what it is, pass or fail");
  command.add_option("case", arguments->case_name, "Full name of a case, as `assay list` shows it").required();
  command.add_option("--options", arguments->options,
                     "Option set by its label, or JSON (left out: the first red one, else the first)");
  add_converter_options(command, arguments->converters);
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  command.add_flag("--metamorphic", arguments->metamorphic, "Ask for every metamorphic relation (L3)");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return explain_command(*arguments); }; });
}

}  // namespace assay::cli
