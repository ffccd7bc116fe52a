#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/common.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/run_output.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/data/user_case.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/report/run_report.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/known_names.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/table_scales.hpp"

namespace assay::cli {
namespace {

struct AuditArguments {
  std::string model, cache, artifact, calibration;
  std::string options = "{}";
  std::string method, activation;
  std::optional<double> percentile;
  bool symmetric = false, per_tensor = false;
  bool json = false;
  JudgeLimitOptions judging;
};

/// --options with the single words laid over it.
core::Result<std::string> option_words(const AuditArguments& arguments) {
  auto json = core::json_or_discarded<nlohmann::json>(arguments.options);
  if (!json.is_object()) {
    return core::usage_error("--options is not a JSON object");
  }
  if (!arguments.method.empty()) {
    json["method"] = arguments.method;
  }
  if (!arguments.activation.empty()) {
    json["activation"] = arguments.activation;
  }
  if (arguments.percentile) {
    json["percentile"] = *arguments.percentile;
  }
  if (arguments.symmetric) {
    json["symmetric"] = true;
  }
  if (arguments.per_tensor) {
    json["per_axis"] = false;
  }
  const std::string text = json.dump();
  if (const auto options = converters::options_from_json(text); !options) {
    return options.error();
  }
  return text;
}

/// The table to audit; an empty one where an artifact is.
core::Result<converters::CalibrationTable> read_table(const AuditArguments& arguments, const std::string& options,
                                                      const model::Model& model) {
  if (arguments.cache.empty()) {
    return converters::CalibrationTable{};
  }
  const core::Result<std::string> bytes = core::read_file(arguments.cache);
  if (!bytes) {
    return bytes.error();
  }
  core::Result<converters::CalibrationTable> table = converters::parse_calibration_table(*bytes);
  if (!table) {
    return table.error().within("\"" + arguments.cache + "\"");
  }
  if (core::Status status = run::check_table(*table, model); !status) {
    return status.error().within("\"" + arguments.cache + "\"");
  }
  const core::Result<converters::Options> asked = converters::options_from_json(options);
  if (table->method && run::states_method(options) && asked && asked->method != *table->method) {
    return core::usage_error(fmt::format("\"{}\" was made by method {}, not {}; leave --method out", arguments.cache,
                                         converters::method_name(*table->method),
                                         converters::method_name(asked->method)));
  }
  return table;
}

struct Audited {
  run::RunReport report;
  std::string data_line;
  nlohmann::ordered_json data;
};

core::Result<Audited> audit(const AuditArguments& arguments) {
  if (arguments.cache.empty() == arguments.artifact.empty()) {
    return core::usage_error("audit takes one of --cache FILE and --artifact QDQ.onnx");
  }
  if (arguments.calibration.empty() && !arguments.cache.empty()) {
    return core::usage_error("a cache is held against the data it was made from; give --calibration");
  }
  const core::Result<std::string> options = option_words(arguments);
  if (!options) {
    return options.error();
  }
  core::Result<data::UserCase> user = data::make_user_case(arguments.model, arguments.calibration, "");
  if (!user) {
    return user.error();
  }
  if (!arguments.artifact.empty()) {
    if (const auto artifact = model::load_model(arguments.artifact); !artifact) {
      return artifact.error();
    }
  }
  core::Result<converters::CalibrationTable> table = read_table(arguments, *options, *user->test_case.model);
  if (!table) {
    return table.error();
  }
  const core::Result<converters::Options> parsed = converters::options_from_json(*options, run::table_options(*table));
  if (!parsed) {
    return parsed.error();
  }
  if (const core::Status named = run::check_precision_names(*parsed, user->test_case.model->graph); !named) {
    return named.error();
  }
  const core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) {
    return folder.error();
  }
  Audited audited{{},
                  data::calibration_line(*user, data::Conversion::elsewhere),
                  data::data_json(*user, data::Conversion::elsewhere)};
  run::RunConfig config;
  config.suite = "audit " + user->test_case.name;
  config.command = config.suite;
  config.items.push_back(
      {std::move(user->test_case), {{converters::options_label(*parsed), *options}}, std::move(user->data)});
  config.jobs = 1;
  take_judge_limits(arguments.judging, config);
  config.artifact = arguments.artifact;
  config.audit = *std::move(table);
  config.database = folder->path() / "audit.db";
  core::Result<run::RunReport> report = run::run(config);
  if (!report) {
    return report.error();
  }
  audited.report = *std::move(report);
  return audited;
}

std::string repeat_command(const AuditArguments& arguments) {
  std::string command = corpus::command_word() + " audit " + shell_quoted(arguments.model);
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) {
      command += fmt::format(" {} {}", option, shell_quoted(value));
    }
  };
  add("--cache", arguments.cache);
  add("--artifact", arguments.artifact);
  add("--calibration", arguments.calibration);
  add("--options", arguments.options == "{}" ? "" : arguments.options);
  add("--method", arguments.method);
  add("--activation", arguments.activation);
  add("--percentile", arguments.percentile ? fmt::format("{}", *arguments.percentile) : "");
  command += arguments.symmetric ? " --symmetric" : "";
  command += arguments.per_tensor ? " --per-tensor" : "";
  return command + judge_limit_words(arguments.judging);
}

int audit_command(const AuditArguments& arguments) {
  const core::Result<Audited> audited = audit(arguments);
  if (!audited) {
    return report_error(audited.error());
  }
  if (arguments.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(report::run_json(audited->report));
    json["data"] = audited->data;
    print("{}\n", report::json_line(json));
    return run::exit_code(audited->report);
  }
  print("{}\n", judged_line(arguments.artifact, audited->report, audited->data_line));
  print("{}", here(report::judged_model_text(audited->report, repeat_command(arguments))));
  return run::exit_code(audited->report);
}

}  // namespace

void register_audit(Command app, Action& action) {
  auto arguments = std::make_shared<AuditArguments>();
  const Command command =
      app.add_subcommand("audit", "Hold the parameters of a calibration cache or a Q/DQ model against its data");
  command.add_option("model", arguments->model, "Float ONNX model").required();
  command.add_option("--cache", arguments->cache, "Calibration table of Assay, TensorRT or ONNX Runtime");
  command.add_option("--artifact", arguments->artifact, "Q/DQ model that was made from it").excludes({"--cache"});
  command.add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--options", arguments->options, "Converter options as JSON");
  command.add_option("--method", arguments->method, "minmax, entropy, percentile or mse; a cache may state its own");
  command.add_option("--percentile", arguments->percentile, "Share of the values inside, in percent")
      .check_range(50.0, 100.0);
  command.add_option("--activation", arguments->activation, "int8 or uint8");
  command.add_flag("--symmetric", arguments->symmetric, "Activations have codes around zero");
  command.add_flag("--per-tensor", arguments->per_tensor, "Weights have one scale each");
  add_judge_limits(command, arguments->judging);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return audit_command(*arguments); }; });
}

}  // namespace assay::cli
