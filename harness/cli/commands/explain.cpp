#include "harness/run/explain.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/artifact_options.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/recorded.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/report/explanation.hpp"
#include "harness/report/glossary.hpp"
#include "harness/report/repeat.hpp"
#include "harness/report/verdict.hpp"

namespace assay::cli {
namespace {

struct ExplainArguments {
  std::vector<std::string> words;
  std::string options, calibration, inputs;
  std::string database = ".assay/history.db";
  ConverterOptions converters;
  ArtifactOptions artifact;
  double timeout_s = 60;
  JudgeLimitOptions judging;
  bool metamorphic = false, json = false;
};

/// The glossary's entry of a word that is no case's name; nothing where it has none.
std::optional<report::GlossaryEntry> entry_of(const report::Glossary& glossary, const std::string& word) {
  return glossary.explained(word);
}

int print_entry(const report::GlossaryEntry& entry, bool as_json) {
  if (as_json) {
    print("{}\n", nlohmann::ordered_json{{"word", entry.word}, {"text", entry.text}}.dump());
  } else {
    print("{}\n\n{}\n", entry.word, entry.text);
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

int print_verdict(const core::Result<run::ExplainedVerdict>& verdict, bool as_json) {
  if (!verdict) return report_error(verdict.error());
  print("{}\n", as_json ? report::explanation_json(*verdict) : report::explanation_text(*verdict));
  return kExitOk;
}

core::Result<run::ExplainedVerdict> explain_item(const ExplainArguments& arguments, const run::RunItem& item,
                                                 const std::vector<std::string>& fallback) {
  const core::Result<std::vector<programs::ConverterSpec>> converters =
      resolve_converters(arguments.converters, fallback);
  if (!converters) return converters.error();
  if (converters->size() != 1) return core::usage_error("explain asks one converter, in one version");
  return run::explain_first_red(item, converters->front(), arguments.timeout_s);
}

bool names_a_converter(const ConverterOptions& converters) {
  return !converters.names.empty() || !converters.commands.empty() || !converters.faults.empty() ||
         !converters.variant.empty();
}

/// The options that name the converter of a recorded verdict again.
core::Result<ConverterOptions> made_by(const results::Store::HistoryRow& row) {
  const report::RunWords words = report::run_words(row.run.command);
  const report::Makers makers = report::makers_of(row.result.key, words);
  const std::string command = "`assay " + row.run.command + "`";
  if (!makers.executor.empty()) {
    return core::usage_error(
        fmt::format("it was made by {}, and explain can't ask another program to execute (--execute-with)", command));
  }
  if (words.programs.size() > 1) {
    return core::usage_error(fmt::format("it was made by {}; say which of the programs: --converter-cmd CMD", command));
  }
  ConverterOptions converters;
  converters.no_sandbox = words.no_sandbox;
  converters.reads = words.reads;
  converters.writes = words.writes;
  if (!makers.converter.empty()) converters.names = {makers.converter};
  converters.commands = words.programs;
  if (row.result.key.converter == "embedded") {
    converters.faults = words.faults;
    converters.variant = words.variant;
  }
  return converters;
}

/// Says whose verdict is explained, and how to see another.
void tell_whose(const std::string& case_name, const std::string& database, const LastVerdict& recorded) {
  const results::ResultRow& row = recorded.last.result;
  std::vector<std::string> others;
  for (const auto& [name, verdict] : recorded.others) others.push_back(fmt::format("{} ({})", name, verdict));
  print(stderr, "{}: the last run in {} recorded {}{}, of {}@{}, options {}, {}; made again here\n", case_name,
        database, row.verdict, row.facet.empty() ? "" : " (" + report::place_of(row) + ")", row.key.converter,
        row.key.version, row.key.options, row.started_at.substr(0, std::string("2026-01-01T00:00").size()));
  if (!others.empty()) {
    print(stderr, "--converter NAME explains another: {}\n", core::join(others, ", "));
  }
}

/// An expected failure is recorded as such, and is a failure.
bool are_alike(const results::ResultRow& row, const judge::Judgement& judgement) {
  const std::string facet = judgement.facet ? std::string(judge::facet_name(*judgement.facet)) : "";
  return (row.verdict == judge::verdict_name(judgement.verdict) || row.verdict.starts_with("x")) && row.facet == facet;
}

/// A case, by whoever is named; else as its last verdict was made; else by the suite's converter.
core::Result<run::ExplainedVerdict> explain_case(ExplainArguments arguments, Selection selection) {
  const std::string name = selection.items.front().test_case.name;
  std::optional<LastVerdict> recorded;
  if (!names_a_converter(arguments.converters)) {
    core::Result<std::optional<LastVerdict>> found =
        last_verdict(arguments.database, name, arguments.options.starts_with("{") ? "" : arguments.options);
    if (!found) return found.error();
    recorded = *std::move(found);
    if (recorded) {
      tell_whose(name, arguments.database, *recorded);
      core::Result<ConverterOptions> converters = made_by(recorded->last);
      if (!converters) return converters.error().within(name);
      converters->no_sandbox = converters->no_sandbox || arguments.converters.no_sandbox;
      converters->reads.insert(converters->reads.end(), arguments.converters.reads.begin(),
                               arguments.converters.reads.end());
      converters->writes.insert(converters->writes.end(), arguments.converters.writes.begin(),
                                arguments.converters.writes.end());
      arguments.converters = *std::move(converters);
      if (arguments.options.empty()) {
        const std::string& stated = report::run_words(recorded->last.run.command).options;
        arguments.options = stated.starts_with("{") ? stated : recorded->last.result.key.options;
        core::Result<Selection> narrowed = select(arguments.words, arguments.options);
        if (!narrowed) return narrowed.error();
        selection = *std::move(narrowed);
      }
    } else {
      print(stderr, "no verdict of {} is recorded in {}; this is {}'s, --converter NAME explains another's\n", name,
            arguments.database, core::join(selection.converters, ", "));
    }
  }
  if (const core::Status named = check_fault_nodes(arguments.converters, selection.items); !named) {
    return named.error();
  }
  if (arguments.metamorphic) ask_all_relations(selection.items);
  core::Result<run::ExplainedVerdict> verdict = explain_item(arguments, selection.items.front(), selection.converters);
  if (verdict && recorded && !are_alike(recorded->last.result, verdict->judgement)) {
    print(stderr, "made again, the verdict is another one: {}\n", judge::verdict_name(verdict->judgement.verdict));
  }
  return verdict;
}

/// A float model of the user's, converted or with a ready artifact.
core::Result<run::ExplainedVerdict> explain_model(const ExplainArguments& arguments) {
  core::Result<UserModel> loaded =
      load_user_model(arguments.words.front(), arguments.calibration, arguments.inputs,
                      arguments.options.empty() ? "{}" : arguments.options, arguments.converters, arguments.artifact);
  if (!loaded) return loaded.error();
  data::UserCase& user = loaded->user;
  const bool given = arguments.artifact.given();
  print(stderr, "{}\n", data::data_line(user, given ? data::Conversion::elsewhere : data::Conversion::here));
  std::vector<run::RunItem> items;
  items.push_back({std::move(user.test_case), {loaded->options}, std::move(user.data)});
  if (given) return run::explain_artifact(items.front(), arguments.artifact.file, loaded->made_by);
  if (arguments.metamorphic) ask_all_relations(items);
  return explain_item(arguments, items.front(), {"embedded"});
}

int explain_command(const ExplainArguments& arguments) {
  if (arguments.words.size() == 1 && is_model_file(arguments.words.front())) {
    return print_verdict(explain_model(arguments), arguments.json);
  }
  const std::string word = core::join(arguments.words, " ");
  for (const auto& [option, value] :
       {std::pair("--artifact", &arguments.artifact.file), std::pair("--calibration", &arguments.calibration),
        std::pair("--inputs", &arguments.inputs)}) {
    if (!value->empty()) {
      return report_error(core::usage_error(fmt::format(
          "{} goes with a float model of yours, as FLOAT.onnx; \"{}\" is a case's name or a word", option, word)));
    }
  }
  const core::Result<report::Glossary> glossary = report::Glossary::read();
  // A case's own name has a slash, or is its family's, and then explains a verdict where that is one case.
  const std::optional<report::GlossaryEntry> entry = glossary ? entry_of(*glossary, word) : std::nullopt;
  core::Result<Selection> selection = select(arguments.words, arguments.options);
  if (!selection) return report_error(selection.error());
  const bool is_case = selection->unmatched.empty() && selection->items.size() == 1;
  if (entry && !is_case) return print_entry(*entry, arguments.json);
  if (!selection->unmatched.empty()) return report_unknown(selection->unmatched, word, glossary);
  if (!is_case) {
    return report_error(core::usage_error(fmt::format("\"{}\" is {}; explain takes one, for example \"{}\"", word,
                                                      core::counted(selection->items.size(), "case"),
                                                      selection->items.front().test_case.name)));
  }
  return print_verdict(explain_case(arguments, *std::move(selection)), arguments.json);
}

}  // namespace

void register_explain(Command app, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  const Command command =
      app.add_subcommand("explain", "Say in numbers why a verdict is what it is, pass or fail; or what a word means");
  command
      .add_option(
          "case", arguments->words,
          "A case by its name, as `assay list` shows it; a file of cases, FILE.json, and which of them; a float "
          "model of yours, FLOAT.onnx; or a word, as `margin`")
      .required();
  command.add_option("--options", arguments->options,
                     "Option set by its label, or JSON (left out: the first red one, else the first)");
  command.add_option("--db", arguments->database,
                     "Results database whose last verdict of the case is explained, where no converter is named");
  add_converter_options(command, arguments->converters);
  add_artifact_options(command, arguments->artifact);
  command.add_option("--calibration", arguments->calibration, "For a model: folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--inputs", arguments->inputs, "For a model: data to execute, in the same forms");
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  add_judge_limits(command, arguments->judging);
  command.add_flag("--metamorphic", arguments->metamorphic, "Ask for every metamorphic relation (L3)");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] {
    action = guarded([arguments] { return explain_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
