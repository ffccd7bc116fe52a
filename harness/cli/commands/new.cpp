#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "converters/embedded/embedded.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/corpus/write_case.hpp"
#include "harness/data/user_case.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/new_cases/new_case.hpp"
#include "harness/report/figures.hpp"
#include "harness/run/known_names.hpp"

namespace assay::cli {
namespace {

using nlohmann::ordered_json;

struct NewArguments {
  std::string what, name, model, title, reported_against, defect, into, options = "{}", expect;
  std::string calibration, inputs, with, without = "embedded", wrong_artifact, made_by;
  std::vector<std::string> faults, tags, data;
  std::vector<double> range;
  double timeout_s = 60;
  JudgeLimitOptions judging;
  bool no_sandbox = false;
};

core::Result<programs::ConverterSpec> one_converter(const std::string& name, const std::vector<std::string>& faults,
                                                    bool no_sandbox) {
  const core::Result<std::vector<programs::ConverterSpec>> specs =
      resolve_converters({{name}, {}, faults, "", no_sandbox}, {});
  if (!specs) return specs.error();
  if (specs->size() != 1) return core::usage_error(fmt::format("\"{}\" is several versions; name one", name));
  return specs->front();
}

core::Result<new_cases::Accusation> accusation_of(const NewArguments& arguments) {
  const auto given = static_cast<int>(!arguments.faults.empty()) + static_cast<int>(!arguments.with.empty()) +
                     static_cast<int>(!arguments.wrong_artifact.empty());
  if (given != 1) {
    return core::usage_error(
        "say what has the defect, by one of --fault NAME, --with NAME@VERSION, --wrong-artifact FILE.onnx");
  }
  const core::Result<converters::Options> options = converters::options_from_json(arguments.options);
  if (!options) return options.error();
  new_cases::Accusation accusation;
  accusation.options = {converters::options_label(*options), arguments.options};
  accusation.timeout_s = arguments.timeout_s;
  accusation.wrong_artifact = arguments.wrong_artifact;
  accusation.made_by = arguments.made_by;
  std::error_code code;
  if (!arguments.wrong_artifact.empty() && !std::filesystem::is_regular_file(arguments.wrong_artifact, code)) {
    return core::usage_error(fmt::format("\"{}\" is not a readable file", arguments.wrong_artifact));
  }
  if (arguments.wrong_artifact.empty()) {
    core::Result<programs::ConverterSpec> with =
        one_converter(arguments.with.empty() ? "embedded" : arguments.with, arguments.faults, arguments.no_sandbox);
    if (!with) return with.error();
    accusation.with = *std::move(with);
  }
  core::Result<programs::ConverterSpec> without = one_converter(arguments.without, {}, arguments.no_sandbox);
  if (!without) return without.error();
  accusation.without = *std::move(without);
  return accusation;
}

ordered_json words_of(const NewArguments& arguments, const model::Model& model) {
  const bool url = arguments.what.find("://") != std::string::npos;
  ordered_json words{{"title", corpus::escaped(arguments.title)}};
  if (url) {
    words["origin"].push_back({{"url", corpus::escaped(arguments.what)},
                               {"reported_against", corpus::escaped(arguments.reported_against)},
                               {"defect", corpus::escaped(arguments.defect)}});
  }
  std::set<std::string> tags(arguments.tags.begin(), arguments.tags.end());
  for (const model::Node& node : model.graph.nodes) tags.insert(node.op_type);
  words["tags"] = tags;
  for (const model::ValueInfo& input : model.graph.inputs) {
    ordered_json& spec = words["inputs"][corpus::escaped(input.name)] = ordered_json::object();
    if (!arguments.data.empty()) spec["data"] = arguments.data;
    if (!arguments.range.empty()) spec["range"] = arguments.range;
  }
  if (arguments.options != "{}") words["options"] = core::json_or_discarded<ordered_json>(arguments.options);
  if (!arguments.made_by.empty()) words["made_by"] = arguments.made_by;
  for (const std::string& fault : arguments.faults) words["kills"].push_back(fault.substr(0, fault.find('@')));
  return words;
}

/// What the case is about, where nobody said it: what the fault does, or who has the defect.
std::string title_of(const NewArguments& arguments, const std::string& name) {
  if (!arguments.defect.empty()) return arguments.defect;
  for (const embedded::FaultInfo& fault : embedded::fault_table()) {
    if (!arguments.faults.empty() &&
        arguments.faults.front().substr(0, arguments.faults.front().find('@')) == fault.name)
      return std::string(fault.title);
  }
  return arguments.with.empty() ? "a defect of " + name : "what " + arguments.with + " gets wrong";
}

/// The same of a wrong artifact: what is found in it, and what that is in words where a second line says it.
std::string title_of(const judge::Judgement& judgement) {
  std::istringstream reason(report::with_short_figures(judgement.reason));
  std::string first, second;
  std::getline(reason, first);
  const bool told =
      std::getline(reason, second) && second.starts_with("  ") && second.find(": expected ") == std::string::npos;
  return told ? first + "; " + second.substr(2) : first;
}

/// The data that `assay reduce` wrote beside the model, where no others are named: it is red on these.
void take_data_beside(NewArguments& arguments) {
  const bool named = !arguments.calibration.empty() || !arguments.inputs.empty() || !arguments.data.empty() ||
                     !arguments.range.empty();
  const std::filesystem::path folder = std::filesystem::path(arguments.model).parent_path();
  std::error_code code;
  if (named || !std::filesystem::is_directory(folder / "calibration", code) ||
      !std::filesystem::is_directory(folder / "inputs", code)) {
    return;
  }
  arguments.calibration = (folder / "calibration").string();
  arguments.inputs = (folder / "inputs").string();
  print(stderr, "data: \"{}\" and \"{}\", which lie beside the model; --data and --range describe others\n",
        arguments.calibration, arguments.inputs);
}

core::Result<new_cases::CaseDraft> draft_of(const NewArguments& arguments) {
  core::Result<data::UserCase> user = data::make_user_case(arguments.model, arguments.calibration, arguments.inputs);
  if (!user) return user.error();
  const bool url = arguments.what.find("://") != std::string::npos;
  if (url && arguments.defect.empty())
    return core::usage_error("a report has a --defect: say in a line what goes wrong");
  if (const core::Status named = run::check_fault_nodes(arguments.faults, user->test_case.model->graph); !named) {
    return named.error();
  }
  new_cases::CaseDraft draft;
  draft.name = !arguments.name.empty() ? arguments.name
               : url                   ? new_cases::case_name(std::filesystem::path(arguments.model).stem().string())
                                       : arguments.what;
  draft.model = *user->test_case.model;
  draft.data = std::move(user->data);
  draft.words = words_of(arguments, *draft.model);
  if (draft.words["title"].get<std::string>().empty()) {
    draft.words["title"] = corpus::escaped(title_of(arguments, draft.name));
  }
  if (!arguments.expect.empty()) {
    draft.words["expect"] = core::json_or_discarded<ordered_json>(arguments.expect);
    if (!draft.words["expect"].is_object())
      return core::usage_error("--expect takes the JSON object of a case file's key expect");
  }
  if (!arguments.wrong_artifact.empty()) draft.beside[".wrong.onnx"] = arguments.wrong_artifact;
  return draft;
}

std::string verdict_text(std::string_view side, const run::ExplainedVerdict& verdict, const std::string& judged_as) {
  const judge::Judgement& judgement = verdict.judgement;
  std::string text = fmt::format("{} {}@{}: {} ({})", side, verdict.converter, verdict.version,
                                 judge::verdict_name(judgement.verdict), judge::gate_name(judgement.gate));
  if (judgement.facet) {
    text += fmt::format(" at {}/{}", judge::stage_name(judgement.stage), judge::facet_name(*judgement.facet));
  }
  if (!judged_as.empty()) text += ", " + judged_as;
  text += "\n";
  std::istringstream reason(report::with_short_figures(judgement.reason));
  for (std::string line; std::getline(reason, line);) text += "    " + line + "\n";
  return text;
}

std::string next_steps(const NewArguments& arguments, const new_cases::Proof& proof) {
  std::string text = "not registered: " + proof.missing() + ".\nnext:\n";
  if (proof.with.judgement.gate != judge::Gate::red) {
    text +=
        "  - give the data that show it: --calibration and --inputs, or --range and --data "
        "(ties, wide, extremes, every_code)\n"
        "  - give the options that it was converted with: --options JSON\n"
        "  - say what has to hold beyond the general rules: --expect JSON (docs/cases.md, Expectations)\n";
    if (!arguments.faults.empty()) text += "  - another fault may be the one: ./assay score --help\n";
  }
  if (proof.without.judgement.gate != judge::Gate::green) {
    text += fmt::format("  - see why {} is not green on the model: ./assay check {}{}\n", proof.without.converter,
                        shell_quoted(arguments.model),
                        arguments.without == "embedded" ? "" : " --converter " + shell_quoted(arguments.without));
    text += "  - name a converter that is right: --without NAME@VERSION\n";
  }
  return text;
}

/// The draft with what the facet lets it demand by name, where that is something, and it is red and green then too.
std::optional<new_cases::StagedCase> with_facet(new_cases::CaseDraft draft, const new_cases::Accusation& accusation,
                                                new_cases::Proof& proof) {
  const ordered_json facet = new_cases::expected_facet(proof, *draft.model);
  if (facet.is_null() || draft.words.contains("expect")) return std::nullopt;
  draft.words["expect"] = facet;
  core::Result<new_cases::StagedCase> staged = new_cases::StagedCase::create(draft);
  if (!staged) return std::nullopt;
  core::Result<new_cases::Proof> again = new_cases::prove(staged->test_case(), accusation);
  if (!again || !again->missing().empty()) return std::nullopt;
  proof = *std::move(again);
  return *std::move(staged);
}

/// The case requires the options that its wrong artifact shows: under others a right artifact would be red.
core::Status require_shown_options(new_cases::CaseDraft& draft, new_cases::Accusation& accusation) {
  if (accusation.wrong_artifact.empty()) return core::success();
  const core::Result<new_cases::StagedCase> staged = new_cases::StagedCase::create(draft);
  if (!staged) return staged.error();
  const core::Result<std::string> shown = new_cases::shown_options(staged->test_case(), accusation);
  if (!shown) return shown.error();
  const core::Result<converters::Options> options = converters::options_from_json(*shown);
  if (!options) return options.error();
  accusation.options = {converters::options_label(*options), *shown};
  draft.words["options"] = ordered_json::parse(*shown);
  return core::success();
}

/// A wrong artifact that is none: it is judged as right, or is right under the options that it shows itself and only
/// others that the user states in their place make it red.
core::Status check_accused(const NewArguments& arguments, const new_cases::CaseDraft& draft,
                           const new_cases::Accusation& accusation, const new_cases::Proof& proof) {
  if (accusation.wrong_artifact.empty()) return core::success();
  if (proof.with.judgement.gate != judge::Gate::red) {
    return core::usage_error(fmt::format(
        "not registered: \"{}\" shows no defect. Under the options {} the verdict is {}{}{}; see `{} {} --artifact "
        "{}{}`. Where you know who made it or how its ranges were chosen, say so: --made-by NAME, or --options "
        "'{{\"method\":\"minmax\"}}'",
        arguments.wrong_artifact, accusation.options.options_json, judge::verdict_name(proof.with.judgement.verdict),
        proof.judged_as.empty() ? "" : " (" + proof.judged_as + ")",
        arguments.calibration.empty() ? ". Ranges of activations weren't judged: that takes --calibration" : "",
        here("./assay check"), shell_quoted(arguments.model), shell_quoted(arguments.wrong_artifact),
        arguments.calibration.empty() ? "" : " --calibration " + shell_quoted(arguments.calibration)));
  }
  const std::string beyond_shown = new_cases::beyond_shown(arguments.options);
  if (beyond_shown == ordered_json::parse(arguments.options).dump()) return core::success();
  new_cases::CaseDraft plain = draft;
  plain.words["options"] = ordered_json::parse(beyond_shown);
  new_cases::Accusation nothing_stated = accusation;
  nothing_stated.options = {"", beyond_shown};
  if (core::Status shown = require_shown_options(plain, nothing_stated); !shown) return shown;
  const core::Result<new_cases::StagedCase> staged = new_cases::StagedCase::create(plain);
  if (!staged) return staged.error();
  const core::Result<new_cases::Proof> without_them = new_cases::prove(staged->test_case(), nothing_stated);
  if (!without_them || without_them->with.judgement.gate == judge::Gate::red) return core::success();
  return core::usage_error(
      fmt::format("not registered: nothing but --options {} makes \"{}\" red. The options that it shows are {}, and "
                  "under these its "
                  "verdict is {}; state none of these",
                  arguments.options, arguments.wrong_artifact, nothing_stated.options.options_json,
                  judge::verdict_name(without_them->with.judgement.verdict)));
}

/// The commands that show both verdicts again, as they were.
std::string run_commands(const NewArguments& arguments, const new_cases::Accusation& accusation,
                         const std::string& name, const std::filesystem::path& file) {
  const std::string run = "./assay run " + shell_quoted(arguments.into.empty() ? name : file.string());
  const std::string options = " --options default";  // what else it was tried with is in the case
  const auto by = [](const std::string& converter) {
    return converter.empty() || converter == "embedded" ? "" : " --converter " + shell_quoted(converter);
  };
  std::string with = run, yours;
  if (accusation.wrong_artifact.empty()) {
    with += by(arguments.with) + converter_words({{}, {}, arguments.faults, "", arguments.no_sandbox}) + options;
  } else {
    with += " --artifact " + shell_quoted(std::filesystem::path(file).replace_extension(".wrong.onnx").string());
    yours = fmt::format("yours: {} --artifact YOUR.onnx  # what your build makes of the case's model and data\n", run);
  }
  return fmt::format("red:   {}\ngreen: {}{}{}\n{}", with, run, by(arguments.without), options, yours);
}

int new_command(const NewArguments& given) {
  NewArguments arguments = given;
  take_data_beside(arguments);
  core::Result<new_cases::Accusation> accusation = accusation_of(arguments);
  if (!accusation) return report_error(accusation.error());
  core::Result<new_cases::CaseDraft> draft = draft_of(arguments);
  if (!draft) return report_error(draft.error());
  if (core::Status shown = require_shown_options(*draft, *accusation); !shown) return report_error(shown.error());
  core::Result<new_cases::StagedCase> staged = new_cases::StagedCase::create(*draft);
  if (!staged) return report_error(staged.error());
  core::Result<new_cases::Proof> proof = new_cases::prove(staged->test_case(), *accusation);
  if (!proof) return report_error(proof.error());
  if (const core::Status accused = check_accused(arguments, *draft, *accusation, *proof); !accused) {
    return report_error(accused.error());
  }
  const bool proven = proof->missing().empty();
  if (proven && !accusation->wrong_artifact.empty() && arguments.title.empty() && arguments.defect.empty()) {
    draft->words["title"] = corpus::escaped(title_of(proof->with.judgement));
    staged = new_cases::StagedCase::create(*draft);
    if (!staged) return report_error(staged.error());
  }
  const std::optional<new_cases::StagedCase> more = proven ? with_facet(*draft, *accusation, *proof) : std::nullopt;
  print("tried {} under options {}{}\n{}{}", draft->name, accusation->options.label,
        accusation->wrong_artifact.empty() ? "" : ", as the artifact shows them",
        verdict_text("with the defect,", proof->with, proof->judged_as),
        verdict_text("without it,", proof->without, ""));
  if (!proven) {
    print("{}", here(next_steps(arguments, *proof)));
    return kExitRed;
  }
  const std::filesystem::path folder =
      arguments.into.empty() ? corpus::home() / "cases" : std::filesystem::path(arguments.into);
  const core::Result<std::filesystem::path> file = (more ? *more : *staged).commit(folder);
  if (!file) return report_error(file.error());
  print("registered: {}{}\n", file->string(), staged->described() ? "" : ", its model beside it");
  print("{}", here(run_commands(arguments, *accusation, draft->name, *file)));
  return kExitOk;
}

}  // namespace

void register_new(Command app, Action& action) {
  auto arguments = std::make_shared<NewArguments>();
  const Command command =
      app.add_subcommand("new", "Turn a model into a case, if it is red with the defect and green without it");
  command.add_option("what", arguments->what, "URL of the report, or a name for the case").required();
  command.add_option("--model", arguments->model, "Float ONNX model that shows the defect").required();
  command.add_option("--name", arguments->name, "Name of the case (left out beside a URL: the model file's)");
  command.add_option("--title", arguments->title,
                     "Why the case exists (left out: the defect, what the fault does, or who has it)");
  command.add_option("--reported-against", arguments->reported_against, "Converter and version of the report");
  command.add_option("--defect", arguments->defect, "What goes wrong, in a line");
  command.add_option("--tag", arguments->tags, "Tag, beside the operators; may be repeated").allow_extra_args(false);
  command.add_option("--fault", arguments->faults, "The defect as a fault of the embedded converter; goes to kills")
      .allow_extra_args(false);
  command.add_option("--with", arguments->with, "Converter that has the defect, NAME@VERSION");
  command.add_option("--wrong-artifact", arguments->wrong_artifact,
                     "Q/DQ model that shows the defect; kept beside the case");
  command
      .add_option(
          "--made-by", arguments->made_by,
          "NAME[@VERSION][:SETTINGS] of the converter that made --wrong-artifact; kept in the case (left out: the "
          "known one that explains it)")
      .needs("--wrong-artifact");
  command.add_option("--without", arguments->without, "Converter that has not");
  command.add_option("--calibration", arguments->calibration,
                     "Folder of 0000/input_0.pb …, .npz or .npy; kept beside the case (left out: what `assay reduce` "
                     "left beside the model)");
  command.add_option("--inputs", arguments->inputs, "Data to execute, in the same forms; kept beside the case");
  command.add_option("--range", arguments->range, "Calibrated range of generated data, LOW HIGH").expected(2);
  command.add_option("--data", arguments->data, "Generated data set (docs/cases.md); may be repeated")
      .allow_extra_args(false);
  command.add_option("--options", arguments->options, "What the case requires of the converter, as JSON");
  command.add_option("--expect", arguments->expect, "What it demands beyond the general rules, as JSON");
  command.add_option("--into", arguments->into, "Folder to write to (left out: cases/)");
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  add_no_sandbox(command, arguments->no_sandbox);
  add_judge_limits(command, arguments->judging);
  command.callback([arguments, &action] {
    action = guarded([arguments] { return new_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
