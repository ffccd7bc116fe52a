#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/localize/candidate.hpp"
#include "harness/localize/precision_search.hpp"

namespace assay::cli {
namespace {

struct PrecisionArguments {
  std::string model, calibration, inputs, options = "{}";
  ConverterOptions converters;
  std::optional<double> sqnr_db;
  std::size_t most_conversions = 200;
  double timeout_s = 600;
  JudgeLimitOptions judging;
  bool json = false;
};

struct Found {
  std::string converter;
  localize::PrecisionSearch search;
};

core::Result<Found> search(const PrecisionArguments& arguments) {
  const core::Result<data::UserCase> user =
      data::make_user_case(arguments.model, arguments.calibration, arguments.inputs);
  if (!user) return user.error();
  print(stderr, "{}\n", data::data_line(*user, data::Conversion::here));
  const core::Result<localize::Candidate> whole = localize::make_candidate(*user);
  if (!whole) return whole.error();
  const core::Result<converters::Options> options = converters::options_from_json(arguments.options);
  if (!options) return options.error();
  if (const core::Status named = check_named_nodes(arguments.converters, *options, whole->model.graph); !named) {
    return named.error();
  }
  const core::Result<std::vector<programs::ConverterSpec>> specs =
      resolve_converters(arguments.converters, {"embedded"});
  if (!specs) return specs.error();
  if (specs->size() != 1) {
    return core::Error{core::ErrorKind::usage, "precision asks one converter, in one version", {}, {}, {}};
  }
  const auto judge = localize::Judge::make(specs->front(), arguments.options, arguments.timeout_s);
  if (!judge) return judge.error();
  return Found{specs->front().name,
               localize::search_precision(*whole, **judge, arguments.sqnr_db, arguments.most_conversions,
                                          [](const std::string& line) { print(stderr, "{}\n", line); })};
}

/// The options that keep the nodes in float, as every converter behind protocol 1 takes them.
nlohmann::ordered_json options_with(const std::string& options, const std::vector<std::string>& nodes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(options);
  for (const std::string& node : nodes) json["precision"][node] = "fp32";
  return json;
}

/// The list as the converter itself takes it; empty for one whose adapter doesn't say how.
std::string own_words(const std::string& converter, const std::vector<std::string>& nodes) {
  const std::optional<programs::Adapter> adapter = programs::find_adapter(converter);
  return adapter ? programs::written_as(adapter->in_float, nodes) : "";
}

std::string outcome_text(const judge::Judgement& judgement) {
  return fmt::format("{}{}", judge::verdict_name(judgement.verdict),
                     judgement.sqnr_db ? fmt::format(", {:.1f} dB", *judgement.sqnr_db) : "");
}

/// Why nothing can be kept in float.
void print_impossible(const PrecisionArguments& arguments, const Found& answer) {
  const localize::PrecisionSearch& found = answer.search;
  if (found.ignored.empty()) {
    print("with every node in float it is no better ({}): quantization is not the trouble. Try {} {}\n",
          outcome_text(found.after), here("./assay reduce"), shell_quoted(arguments.model));
    return;
  }
  print("{} was asked for every node in float, but {} {} in INT8:\n", answer.converter,
        core::counted(found.ignored.size(), "node"), found.ignored.size() == 1 ? "is" : "are");
  for (const std::string& node : found.ignored) print("  {}\n", node);
  print("it doesn't follow options[\"precision\"] (docs/protocol.md), without which no node can be kept in float\n");
}

int precision_command(const PrecisionArguments& arguments) {
  const core::Result<Found> answer = search(arguments);
  if (!answer) return report_error(answer.error());
  const localize::PrecisionSearch* found = &answer->search;
  if (found->before.verdict == judge::Verdict::unsupported) {
    return report_error({core::ErrorKind::usage,
                         fmt::format("{} can't be asked: {}", answer->converter, found->before.reason),
                         {},
                         {},
                         {}});
  }
  const std::string own = own_words(answer->converter, found->nodes);
  const auto options = options_with(arguments.options, found->nodes);
  const bool solved = !found->needed || found->possible;
  if (arguments.json) {
    const nlohmann::ordered_json json{{"needed", found->needed},
                                      {"possible", solved},
                                      {"ignored", found->ignored},
                                      {"nodes", found->nodes},
                                      {"minimal", found->minimal},
                                      {"options", options},
                                      {"own_words", own},
                                      {"conversions", found->conversions},
                                      {"reused_cache", found->reused_cache},
                                      {"before", outcome_text(found->before)},
                                      {"after", found->needed ? outcome_text(found->after) : ""}};
    print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return solved ? kExitOk : kExitRed;
  }
  print("everything in INT8: {}\n", outcome_text(found->before));
  if (!found->needed) {
    print("nothing needs to stay in float\n");
    return kExitOk;
  }
  if (!found->possible) {
    print_impossible(arguments, *answer);
    return kExitRed;
  }
  print("{} in float: {} ({}{})\n", core::counted(found->nodes.size(), "node"), outcome_text(found->after),
        core::counted(found->conversions, "conversion"), found->reused_cache ? ", calibrated once" : "");
  for (const std::string& node : found->nodes) print("  {}\n", node);
  if (!found->minimal)
    print("{} spent: a smaller set may do (--most)\n",
          core::counted(found->conversions, "conversion is", "conversions are"));
  print("options: {}\n", options.dump());
  if (!own.empty()) print("{} itself: {}\n", answer->converter, own);
  return kExitOk;
}

}  // namespace

void register_precision(Command app, Action& action) {
  auto arguments = std::make_shared<PrecisionArguments>();
  const Command command = app.add_subcommand("precision", "Find a smallest set of nodes to keep in float");
  command.add_option("model", arguments->model, "Float ONNX model").required();
  add_converter_options(command, arguments->converters);
  command.add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--inputs", arguments->inputs, "Data to execute, in the same forms");
  command.add_option("--options", arguments->options, "Converter options as JSON");
  command.add_option("--sqnr", arguments->sqnr_db, "Ask for so many dB at the outputs too");
  command.add_option("--most", arguments->most_conversions, "Conversions to spend on making the set smaller")
      .check(Check::positive);
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  add_judge_limits(command, arguments->judging);
  command.callback([arguments, &action] {
    action = guarded([arguments] { return precision_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
