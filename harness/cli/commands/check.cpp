#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/artifact_options.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/fault_effect.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/run_output.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/quoted.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/data/user_case.hpp"
#include "harness/report/detail.hpp"
#include "harness/report/html/html_report.hpp"
#include "harness/report/nodes.hpp"
#include "harness/report/run_report.hpp"
#include "harness/run/runner.hpp"

namespace assay::cli {
namespace {

struct CheckArguments {
  std::string model, calibration, inputs, database;
  ArtifactOptions artifact;
  std::optional<std::string> options;
  ConverterOptions converters;
  double timeout_s = 600;
  JudgeLimitOptions judging;
  bool metamorphic = false;
  bool require_judged = false;
  bool keep_detail = false;
  std::string html;
  bool json = false;
};

/// The model, and whose verdict on which data: what the commands that look further take too.
std::string model_words(const CheckArguments& arguments) {
  std::string command = " " + shell_quoted(arguments.model);
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) {
      command += fmt::format(" {} {}", option, shell_quoted(value));
    }
  };
  command += artifact_words(arguments.artifact);
  add("--calibration", arguments.calibration);
  add("--inputs", arguments.inputs);
  add("--options", arguments.options.value_or(""));
  command += converter_words(arguments.converters);
  if (arguments.timeout_s != CheckArguments().timeout_s) command += fmt::format(" --timeout {:g}", arguments.timeout_s);
  command += judge_limit_words(arguments.judging);
  return command;
}

/// Behind the program's name, what gives the same verdict; the record keeps this.
std::string repeat_words(const CheckArguments& arguments) {
  return "check" + model_words(arguments) + (arguments.metamorphic ? " --metamorphic" : "") +
         (arguments.require_judged ? " --require-judged" : "");
}

struct Checked {
  run::RunReport report;
  std::string data_line;  ///< which data were given and which made up
  nlohmann::ordered_json data;
  std::shared_ptr<const model::Model> model;
};

/// Verdicts without a harness of numbers have nothing to tell of nodes.
std::vector<localize::NodeRow> nodes_of(const Checked& checked) {
  if (checked.report.rows.empty()) {
    return {};
  }
  const results::ResultRow& row = checked.report.rows.front();
  std::vector<judge::Metric> metrics;
  for (const results::MetricRow& metric : row.metrics) {
    metrics.push_back({metric.tensor, metric.data_set, metric.name, metric.value});
  }
  std::vector<converters::NodePrecision> precision;
  for (const results::PrecisionRow& each : row.precision) {
    precision.push_back({each.node, each.op, each.got});
  }
  std::vector<judge::Finding> findings;
  for (const results::FindingRow& each : row.findings) {
    judge::Finding& finding = findings.emplace_back();
    finding.node = each.node;
    finding.tensor = each.tensor;
    finding.facet = judge::parse_facet(each.facet).value_or(judge::Facet::status);
    finding.margin = each.margin;
    finding.amber = each.amber || run::gate_of(row) != judge::Gate::red;
  }
  return localize::node_table(checked.model->graph, metrics, precision, findings);
}

/// The same check with the nodes that the artifact has in float stated so, where that is what it is faulted for: they
/// may have been left out on purpose. "" where it isn't, or where they are many.
std::string as_left_in_float(const CheckArguments& arguments, const results::ResultRow& row) {
  constexpr std::size_t kMost = 12;
  std::set<std::string> nodes;
  for (const results::FindingRow& finding : row.findings) {
    const bool in_float = finding.facet == judge::facet_name(judge::Facet::precision) &&
                          finding.message.find("expected int8") != std::string::npos;
    if (in_float && !finding.node.empty()) nodes.insert(finding.node);
  }
  if (!arguments.artifact.given() || nodes.empty() || nodes.size() > kMost) return "";
  auto options = core::json_or_discarded<nlohmann::ordered_json>(arguments.options.value_or("{}"));
  if (!options.is_object()) return "";
  for (const std::string& node : nodes) options["precision"][node] = "fp32";
  CheckArguments stated = arguments;
  stated.options = options.dump();
  return fmt::format("    ./assay check{}  # if {} left in float on purpose, as by ONNX Runtime's nodes_to_exclude\n",
                     model_words(stated), nodes.size() == 1 ? "this node was" : "these nodes were");
}

/// What helps somebody whose model has gone wrong, by what has gone wrong.
std::string next_steps(const CheckArguments& arguments, const results::ResultRow& row) {
  if (run::gate_of(row) != judge::Gate::red) {
    return "";
  }
  const std::string rest = model_words(arguments);
  std::string text = "  next:\n" + as_left_in_float(arguments, row) + "    ./assay reduce" + rest +
                     "  # the smallest model that fails alike\n";
  if (row.stage != "convert" || row.facet != "status") {
    text += "    ./assay bisect" + rest + "  # every node that goes wrong\n";
    text += arguments.artifact.given() ? "    ./assay explain" + rest + "  # the numbers behind the worst element\n"
                                       : "    ./assay precision" + rest + "  # the fewest nodes to keep in float\n";
  }
  return text;
}

/// Where nearly every range differs, other data may be all that is wrong with these.
std::string doubt_text(const CheckArguments& arguments, const results::ResultRow& row) {
  const auto doubted = std::ranges::find(row.metrics, "ranges_doubted", &results::MetricRow::name);
  if (doubted == row.metrics.end()) return "";
  const bool sure = !row.node.empty() && row.reason.find("calibrated on?") == std::string::npos;
  return fmt::format(
      "  {:g} ranges differ from those of {}: is it what the model was calibrated on?{}\n", doubted->value,
      shell_quoted(arguments.calibration),
      sure ? fmt::format(" Wrong with any data: \"{}\" ({})", core::visible_name(row.node), row.op) : "");
}

/// The page of this model alone, whatever else its database holds.
core::Status write_page(const CheckArguments& arguments, const run::RunConfig& config, const std::string& run) {
  core::Result<results::Store> store = results::Store::open(config.database);
  if (!store) {
    return store.error();
  }
  const core::Result<std::string> page =
      report::html_report(*store, {{}, arguments.database, run, 0, corpus::command_word()});
  return page ? core::write_file(arguments.html, *page) : core::Status(page.error());
}

core::Result<Checked> check(const CheckArguments& arguments) {
  const std::string options_json = arguments.options.value_or("{}");
  core::Result<UserModel> loaded = load_user_model(arguments.model, arguments.calibration, arguments.inputs,
                                                   options_json, arguments.converters, arguments.artifact);
  if (!loaded) {
    return loaded.error();
  }
  data::UserCase& user = loaded->user;
  const std::shared_ptr<const model::Model> model = user.test_case.model;
  const auto conversion = arguments.artifact.given() ? data::Conversion::elsewhere : data::Conversion::here;
  Checked checked{{}, data::data_line(user, conversion), data::data_json(user, conversion), model};
  run::RunConfig config;
  config.every_node = true;
  config.suite = "check " + user.test_case.name;
  config.command = repeat_words(arguments);
  // The page of one model is to show all that there is.
  config.detail = report::kept_detail(arguments.keep_detail || !arguments.html.empty());
  config.items.push_back({std::move(user.test_case), {loaded->options}, std::move(user.data)});
  if (arguments.metamorphic) {
    ask_all_relations(config.items);
  }
  config.timeout_s = arguments.timeout_s;
  take_judge_limits(arguments.judging, config);
  config.require_judged = arguments.require_judged;
  config.jobs = 1;
  if (!arguments.artifact.given()) {
    core::Result<std::vector<programs::ConverterSpec>> converters =
        resolve_converters(arguments.converters, {"embedded"});
    if (!converters) {
      return converters.error();
    }
    config.converters = *std::move(converters);
  } else {
    config.artifact = arguments.artifact.file;
    config.made_by = std::move(loaded->made_by);
  }
  // Recorded only where the user names a database: a model under work is not part of a history.
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) {
    return folder.error();
  }
  config.database =
      arguments.database.empty() ? folder->path() / "check.db" : std::filesystem::path(arguments.database);
  core::Result<run::RunReport> report = run::run(config);
  if (!report) {
    return report.error();
  }
  checked.report = *std::move(report);
  if (!arguments.html.empty()) {
    if (const core::Status written = write_page(arguments, config, checked.report.run); !written) {
      return written.error();
    }
  }
  return checked;
}

/// After a verdict that isn't red: does a fault that is switched on change anything of the model?
core::Status check_faults(const CheckArguments& arguments, int code) {
  if (code != kExitOk || arguments.converters.faults.empty()) return core::success();
  core::Result<data::UserCase> user = data::make_user_case(arguments.model, arguments.calibration, arguments.inputs);
  if (!user) return user.error();
  const std::string options = arguments.options.value_or("{}");
  return check_faults_apply(arguments.converters,
                            {{std::move(user->test_case), {{"", options}}, std::move(user->data)}});
}

int check_command(const CheckArguments& arguments) {
  const core::Result<Checked> checked = check(arguments);
  if (!checked) {
    return report_error(checked.error());
  }
  const std::vector<localize::NodeRow> nodes = nodes_of(*checked);
  const auto finish = [&] {
    const int code = run::exit_code(checked->report);
    const core::Status faults = check_faults(arguments, code);
    return faults ? code : report_error(faults.error());
  };
  if (arguments.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(report::run_json(checked->report));
    json["data"] = checked->data;
    json["nodes"] = nlohmann::ordered_json::array();
    for (const localize::NodeRow& row : nodes) {
      json["nodes"].push_back(report::node_json(row));
    }
    print("{}\n", json.dump());
    return finish();
  }
  print("{}\n", judged_line(arguments.artifact.file, checked->report, checked->data_line));
  std::string further = "\n" + report::node_table_text(nodes);
  for (const results::ResultRow& row : checked->report.rows) {
    further += doubt_text(arguments, row);
  }
  const auto wrong = std::ranges::find_if(nodes, localize::is_wrong);
  if (wrong != nodes.end()) {
    further += fmt::format("  first wrong: \"{}\" ({})\n", core::visible_name(wrong->node), wrong->op);
  }
  for (const results::ResultRow& row : checked->report.rows) {
    further += next_steps(arguments, row);
  }
  print("{}", here(report::judged_model_text(
                  checked->report,
                  corpus::command_word() + " " + repeat_words(arguments) +
                      (arguments.database.empty() ? "" : " --db " + shell_quoted(arguments.database)),
                  &checked->model->graph, further)));
  return finish();
}

}  // namespace

void register_check(Command app, Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  const Command command = app.add_subcommand("check", "Judge one model of yours, without a case file");
  command.add_option("model", arguments->model, "Float ONNX model").required();
  add_converter_options(command, arguments->converters);
  add_artifact_options(command, arguments->artifact);
  command.add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--inputs", arguments->inputs, "Data to execute, in the same forms");
  command.add_option("--options", arguments->options,
                     "Converter options as JSON (--artifact: what it was made with; what is left out it shows)");
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  add_judge_limits(command, arguments->judging);
  command.add_option("--db", arguments->database, "Record the verdict in this database");
  command
      .add_flag("--metamorphic", arguments->metamorphic,
                "Also convert and run changed forms of the model that must give the same: renamed, reordered, …")
      .excludes({"--artifact"});
  command.add_flag("--require-judged", arguments->require_judged,
                   "A verdict that could not be judged is red (exit code 1)");
  command.add_flag("--keep-detail", arguments->keep_detail,
                   "Keep in --db what a report draws (graphs, weights, the derivation) of a passing verdict too");
  command.add_option("--html", arguments->html, "Write a page about this verdict, for a browser, into this file");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return check_command(*arguments); }; });
}

}  // namespace assay::cli
