#include "harness/run/explain.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/common.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/text.hpp"
#include "harness/report/explanation.hpp"
#include "harness/report/glossary.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::string case_name, options;
  ConverterOptions converters;
  double timeout_s = 60;
  bool metamorphic = false, json = false;
};

core::Error usage(std::string message) { return {core::ErrorKind::usage, std::move(message), {}, {}, {}}; }

/// The glossary's entry of a word that is no case's name; nothing where it has none.
std::optional<report::GlossaryEntry> entry_of(const report::Glossary& glossary, const std::string& word) {
  return glossary.explained(word);
}

int print_entry(const report::GlossaryEntry& entry, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"word", entry.word}, {"text", entry.text}}.dump());
  } else {
    fmt::print("{}\n\n{}\n", entry.word, entry.text);
  }
  return kExitOk;
}

/// What is neither a case nor a word: the nearest of both.
int report_unknown(const std::string& complaint, const std::string& word,
                   const core::Result<report::Glossary>& glossary) {
  if (!glossary) return report_unmatched(complaint);
  const std::vector<std::string> words = glossary->words();
  return report_unmatched(fmt::format("{}; nor is it a word of the glossary; near it: {}", complaint,
                                      core::join(core::nearest(word, words), ", ")));
}

int explain_command(const Arguments& arguments) {
  const core::Result<report::Glossary> glossary = report::Glossary::read();
  // A case's own name has a slash, or is its family's, and then explains a verdict where that is one case.
  const std::optional<report::GlossaryEntry> entry = glossary ? entry_of(*glossary, arguments.case_name) : std::nullopt;
  core::Result<Selection> selection = select({arguments.case_name}, arguments.options);
  if (!selection) return report_error(selection.error());
  const bool is_case = selection->unmatched.empty() && selection->items.size() == 1;
  if (entry && !is_case) return print_entry(*entry, arguments.json);
  if (!selection->unmatched.empty()) return report_unknown(selection->unmatched, arguments.case_name, glossary);
  if (!is_case) {
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
  const Command command = app.add_subcommand(
      "explain", "Say in numbers why a case's verdict is what it is, pass or fail; or what a word means");
  command
      .add_option("case", arguments->case_name, "Full name of a case, as `assay list` shows it; or a word, as `margin`")
      .required();
  command.add_option("--options", arguments->options,
                     "Option set by its label, or JSON (left out: the first red one, else the first)");
  add_converter_options(command, arguments->converters);
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  command.add_flag("--metamorphic", arguments->metamorphic, "Ask for every metamorphic relation (L3)");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return explain_command(*arguments); }; });
}

}  // namespace assay::cli
