#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/bundles/make_bundle.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/script.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/files.hpp"
#include "harness/core/staging.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/data/user_case.hpp"
#include "harness/programs/environments.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/explain.hpp"

namespace assay::cli {
namespace {

struct BundleArguments {
  std::vector<std::string> words;  ///< what to bundle, and last the folder
  std::string maker;               ///< a kit for who makes this converter, NAME[@VERSION], in place of a bundle
  std::string artifact, calibration, inputs;
  std::optional<std::string> options;
  ConverterOptions converters;
  double timeout_s = 600;
  JudgeLimitOptions judging;
  bool json = false;
};

std::string folder_of(const BundleArguments& arguments) { return arguments.words.back(); }
std::vector<std::string> what_of(const BundleArguments& arguments) {
  return {arguments.words.begin(), arguments.words.end() - 1};
}
std::string shown(const BundleArguments& arguments) { return core::join(what_of(arguments), " "); }

/// How the one converter was named, with the version that was found where none was asked for.
bundles::AskedConverter asked(const ConverterOptions& options, const programs::ConverterSpec& spec) {
  bundles::AskedConverter asked;
  if (options.commands.empty()) {
    asked.name = spec.version.empty() ? spec.name : spec.name + "@" + spec.version;
  } else {
    asked.command = options.commands.front();
  }
  asked.faults = options.faults;
  asked.variant = options.variant;
  return asked;
}

core::Status choose_converter(const BundleArguments& arguments, const std::vector<std::string>& fallback,
                              bundles::BundleRequest& request) {
  const core::Result<std::vector<programs::ConverterSpec>> converters =
      resolve_converters(arguments.converters, fallback);
  if (!converters) return converters.error();
  if (converters->size() != 1)
    return core::usage_error("bundle asks one converter, in one version; name it with --converter");
  request.converter = converters->front();
  request.asked = asked(arguments.converters, request.converter);
  return core::success();
}

core::Result<bundles::BundleRequest> user_model(const BundleArguments& arguments) {
  core::Result<data::UserCase> user =
      data::make_user_case(arguments.words.front(), arguments.calibration, arguments.inputs);
  if (!user) return user.error();
  const core::Result<converters::Options> options = converters::options_from_json(arguments.options.value_or("{}"));
  if (!options) return options.error();
  if (core::Status named = check_named_nodes(arguments.converters, *options, user->test_case.model->graph); !named) {
    return named.error();
  }
  bundles::BundleRequest request;
  request.test_case = std::move(user->test_case);
  request.data = std::move(user->data);
  request.options = {converters::options_label(*options), arguments.options.value_or("{}")};
  if (core::Status status = choose_converter(arguments, {"embedded"}, request); !status) return status.error();
  return request;
}

core::Result<bundles::BundleRequest> named_case(const BundleArguments& arguments) {
  if (!arguments.calibration.empty() || !arguments.inputs.empty()) {
    return core::usage_error("--calibration and --inputs go with a model of yours; a case has data of its own");
  }
  core::Result<Selection> selection = select(what_of(arguments), arguments.options.value_or(""));
  if (!selection) return selection.error();
  if (!selection->unmatched.empty()) return core::usage_error(selection->unmatched + ", and there is no such file");
  if (selection->items.size() != 1) {
    return core::usage_error(fmt::format("\"{}\" is {}; bundle takes one, for example \"{}\"", shown(arguments),
                                         core::counted(selection->items.size(), "case"),
                                         selection->items.front().test_case.name));
  }
  if (core::Status named = check_fault_nodes(arguments.converters, selection->items); !named) return named.error();
  const run::RunItem& item = selection->items.front();
  bundles::BundleRequest request;
  if (core::Status status = choose_converter(arguments, selection->converters, request); !status) {
    return status.error();
  }
  request.options = item.option_sets.front();
  if (item.option_sets.size() > 1 && arguments.artifact.empty()) {
    const core::Result<run::ExplainedVerdict> verdict =
        run::explain_first_red(item, request.converter, arguments.timeout_s);
    if (!verdict) return verdict.error();
    request.options = *std::ranges::find(item.option_sets, verdict->options, &corpus::OptionSet::label);
  }
  request.test_case = item.test_case;
  request.data = item.data;
  return request;
}

/// Errors   usage, where no template says how the converter is called, listing those that have one.
core::Status check_maker(const std::string& name) {
  std::vector<std::string> known;
  for (const programs::Adapter& adapter : programs::list_adapters()) {
    if (std::filesystem::is_regular_file(adapter.folder / "kit.py.in")) known.push_back(adapter.name);
  }
  if (std::ranges::find(known, name) != known.end()) return core::success();
  return core::usage_error(
      fmt::format("no kit can be made for \"{}\": it has no kit.py.in beside its adapter; these have "
                  "one: {}",
                  name, core::join(known, ", ")));
}

/// A kit of what `request` shows: a bundle is made and left out of sight, and the script beside the adapters writes the
/// kit from it with the interpreter of the converter's environment, in which it also runs what it wrote.
int make_kit(const bundles::BundleRequest& request, const std::string& folder) {
  if (core::Status status = check_maker(request.converter.base_name()); !status) return report_error(status.error());
  core::Result<core::Staging> kit = core::Staging::create(folder);
  if (!kit) return report_error(kit.error());
  const core::Result<core::TemporaryFolder> place = core::TemporaryFolder::create();
  if (!place) return report_error(place.error());
  const std::filesystem::path bundle = place->path() / "bundle";
  const core::Result<results::ResultRow> row = bundles::make_bundle(request, bundle);
  if (!row) return report_error(row.error());
  print("{}\n", report::verdict_line(*row));
  const programs::ConverterSpec& converter = request.converter;
  const std::filesystem::path interpreter =
      programs::environments_folder() / (converter.base_name() + "-" + converter.version) / "bin" / "python";
  const int code =
      run_script({interpreter.string(), (corpus::home() / "converters" / "adapters" / "kit" / "kit.py").string(),
                  bundle.string(), kit->path().string()});
  if (code != kExitOk) return code;
  if (core::Status status = kit->commit(); !status) return report_error(status.error());
  print("kit: {0}\nrun: python {0}/repro.py\n", folder);
  return kExitOk;
}

int bundle_command(BundleArguments arguments) {
  if (arguments.words.size() < 2) {
    return report_error(
        core::usage_error("bundle takes what to bundle and the folder to make: assay bundle CASE FOLDER"));
  }
  if (!arguments.maker.empty()) arguments.converters.names = {arguments.maker};
  std::error_code code;
  const std::string folder = folder_of(arguments);
  core::Result<bundles::BundleRequest> request = arguments.words.size() == 2 && is_model_file(arguments.words.front())
                                                     ? user_model(arguments)
                                                     : named_case(arguments);
  if (!request) return report_error(request.error());
  if (!arguments.artifact.empty() && !std::filesystem::is_regular_file(arguments.artifact, code)) {
    return report_error(core::usage_error(fmt::format("artifact \"{}\" is not a readable file", arguments.artifact)));
  }
  request->artifact = arguments.artifact;
  request->options_stated = arguments.artifact.empty() || arguments.options.has_value();
  request->timeout_s = arguments.timeout_s;
  if (!arguments.maker.empty()) return make_kit(*request, folder);
  request->command = "assay bundle";
  for (const std::string& word : arguments.words) request->command += " " + shell_quoted(word);
  const core::Result<results::ResultRow> row = bundles::make_bundle(*request, folder);
  if (!row) return report_error(row.error());
  const std::string replay = fmt::format("{} replay {}", corpus::command_word(), shell_quoted(folder));
  if (arguments.json) {
    print("{}\n", report::json_line(report::result_json(*row)));
    return kExitOk;
  }
  print("{}\n", report::verdict_line(*row));
  if (run::gate_of(*row) != judge::Gate::green) print("\n{}", here(report::failure_text(*row, replay)));
  print("bundle: {}\nreplay: {}\n", folder, here(replay));
  return kExitOk;
}

}  // namespace

void register_bundle(Command app, Action& action) {
  auto arguments = std::make_shared<BundleArguments>();
  const Command command = app.add_subcommand(
      "bundle", "Keep one verdict as a folder: model, data, artifact, outputs, parameters, versions, and one command");
  command
      .add_option("what", arguments->words,
                  "A case by its name; a file of cases, FILE.json, and which of them; or a float ONNX model. Last: the "
                  "folder to make")
      .required();
  add_converter_options(command, arguments->converters);
  command
      .add_option("--for", arguments->maker,
                  "Make a kit in place of a bundle: a report for the makers of this converter, NAME[@VERSION], that "
                  "needs nothing of Assay")
      .excludes({"--converter", "--converter-cmd", "--fault", "--variant"});
  command.add_option("--artifact", arguments->artifact, "Judge this Q/DQ model instead of converting")
      .excludes({"--converter", "--converter-cmd", "--for"});
  command.add_option("--calibration", arguments->calibration, "For a model: folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--inputs", arguments->inputs, "For a model: data to execute, in the same forms");
  command.add_option("--options", arguments->options,
                     "Option set by its label, or JSON (a case, left out: the first red one, else the first)");
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  add_judge_limits(command, arguments->judging);
  command.add_flag("--json", arguments->json, "Print the verdict as one JSON object");
  command.callback([arguments, &action] {
    action = guarded([arguments] { return bundle_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
