#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/files.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/user_case.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::string model, artifact, calibration, inputs, database;
  std::optional<std::string> options;
  ConverterOptions converters;
  double timeout_s = 600;
  bool metamorphic = false;
  bool json = false;
};

std::string repeat_command(const Arguments& arguments) {
  std::string command = "./assay check " + shell_quoted(arguments.model);
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) {
      command += fmt::format(" {} {}", option, shell_quoted(value));
    }
  };
  add("--artifact", arguments.artifact);
  add("--calibration", arguments.calibration);
  add("--inputs", arguments.inputs);
  add("--options", arguments.options.value_or(""));
  for (const std::string& name : arguments.converters.names) {
    add("--converter", name);
  }
  for (const std::string& program : arguments.converters.commands) {
    add("--converter-cmd", program);
  }
  for (const std::string& fault : arguments.converters.faults) {
    add("--fault", fault);
  }
  add("--variant", arguments.converters.variant);
  if (arguments.metamorphic) {
    command += " --metamorphic";
  }
  return command;
}

core::Result<run::RunReport> check(const Arguments& arguments) {
  core::Result<run::UserCase> user = run::make_user_case(arguments.model, arguments.calibration, arguments.inputs);
  if (!user) {
    return user.error();
  }
  const std::string options_json = arguments.options.value_or("{}");
  const core::Result<converters::Options> options = converters::options_from_json(options_json);
  if (!options) {
    return options.error();
  }
  run::RunConfig config;
  config.suite = "check " + user->test_case.name;
  config.command = config.suite;
  config.items.push_back(
      {std::move(user->test_case), {{converters::options_label(*options), options_json}}, std::move(user->data)});
  if (arguments.metamorphic) {
    ask_all_relations(config.items);
  }
  config.timeout_s = arguments.timeout_s;
  config.jobs = 1;
  if (arguments.artifact.empty()) {
    core::Result<std::vector<run::ConverterSpec>> converters = resolve_converters(arguments.converters, {"embedded"});
    if (!converters) {
      return converters.error();
    }
    config.converters = *std::move(converters);
  } else {
    if (!std::filesystem::is_regular_file(arguments.artifact)) {
      return core::Error{
          core::ErrorKind::io, fmt::format("artifact \"{}\" is not a readable file", arguments.artifact), {}, {}, {}};
    }
    config.artifact = arguments.artifact;
    config.infer_options = !arguments.options;
  }
  // Recorded only where the user names a database: a model under work is not part of a history.
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) {
    return folder.error();
  }
  config.database =
      arguments.database.empty() ? folder->path() / "check.db" : std::filesystem::path(arguments.database);
  return run::run(config);
}

int check_command(const Arguments& arguments) {
  const core::Result<run::RunReport> report = check(arguments);
  if (!report) {
    return report_error(report.error());
  }
  return print_judged_model(*report, arguments.json, repeat_command(arguments));
}

}  // namespace

void register_check(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("check", "Judge one model of yours, without a case file");
  command->add_option("model", arguments->model, "Float ONNX model")->required();
  add_converter_options(*command, arguments->converters);
  command->add_option("--artifact", arguments->artifact, "Judge this Q/DQ model instead of converting")
      ->excludes("--converter", "--converter-cmd");
  command->add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command->add_option("--inputs", arguments->inputs, "Data to execute, in the same forms");
  command->add_option("--options", arguments->options,
                      "Converter options as JSON (--artifact: what it was made with; left out: what it shows)");
  command->add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter")
      ->check(CLI::PositiveNumber);
  command->add_option("--db", arguments->database, "Record the verdict in this database");
  command
      ->add_flag("--metamorphic", arguments->metamorphic,
                 "Also convert and run changed forms of the model that must give the same: renamed, reordered, …")
      ->excludes("--artifact");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments, &action] { action = [arguments] { return check_command(*arguments); }; });
}

}  // namespace assay::cli
