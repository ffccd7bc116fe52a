#include "harness/cli/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/json.hpp"
#include "harness/report/detail.hpp"

namespace assay::cli {
namespace {

/// Each converter once more with each of the named ones as the executor of its artifacts.
core::Status add_executors(const std::vector<std::string>& names, bool no_sandbox,
                           std::vector<programs::ConverterSpec>& converters) {
  ConverterOptions options;
  options.names = names;
  options.no_sandbox = no_sandbox;
  const core::Result<std::vector<programs::ConverterSpec>> executors = resolve_converters(options, {});
  if (!executors) {
    return executors.error();
  }
  const std::vector<programs::ConverterSpec> own = converters;
  for (const programs::ConverterSpec& converter : own) {
    for (const programs::ConverterSpec& executor : *executors) {
      converters.push_back(programs::executed_by(converter, executor));
    }
  }
  return core::success();
}

/// A suite may hold a converter as a command, which has a blank: it is taken as if it had been given.
void take_commands(const std::vector<std::string>& of_suites, ConverterOptions& converters) {
  const auto is_command = [](const std::string& word) { return word.find(' ') != std::string::npos; };
  const bool given = !converters.names.empty() || !converters.commands.empty();
  if (given || std::ranges::none_of(of_suites, is_command)) return;
  for (const std::string& word : of_suites) (is_command(word) ? converters.commands : converters.names).push_back(word);
}

/// Each field of a request with its name: reading and writing go through the same list.
template <typename Request, typename Visit>
void visit_fields(Request& request, const Visit& visit) {
  visit("selection", request.words);
  visit("converter", request.converters.names), visit("converter_cmd", request.converters.commands);
  visit("fault", request.converters.faults), visit("variant", request.converters.variant);
  visit("no_sandbox", request.converters.no_sandbox), visit("reads", request.converters.reads);
  visit("writes", request.converters.writes);
  visit("execute_with", request.executors), visit("options", request.options);
  visit("only", request.narrowing.only), visit("operators", request.narrowing.operators);
  visit("timeout_s", request.timeout_s), visit("memory_gib", request.memory_gib);
  visit("judge_timeout_s", request.judging.timeout_s), visit("judge_memory_gib", request.judging.memory_gib);
  visit("metamorphic", request.metamorphic), visit("require_judged", request.require_judged);
  visit("keep_detail", request.keep_detail);
}

}  // namespace

RunRequestOptions add_run_request(Command command, RunRequest& request) {
  command.add_option("selection", request.words, "Suites and patterns on case names (default: suite default)");
  add_converter_options(command, request.converters);
  const Option executors =
      command
          .add_option("--execute-with", request.executors,
                      "Run each converter's artifacts by this one too, NAME[@VERSION,…], and judge both; may be "
                      "repeated")
          .allow_extra_args(false);
  command.add_option("--options", request.options, "Only this option set: its label, or options as JSON");
  add_narrowing(command, request.narrowing);
  command.add_option("--timeout", request.timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  command.add_option("--memory", request.memory_gib, "GiB of address space for a converter's process; 0: no limit")
      .check(Check::non_negative);
  add_judge_limits(command, request.judging);
  const Option metamorphic =
      command.add_flag("--metamorphic", request.metamorphic, "Check all metamorphic relations of every case");
  command.add_flag(
      "--keep-detail", request.keep_detail,
      "Keep what a report draws (graphs, weights, the derivation) of every verdict, not only of those that "
      "are red, expected to fail or not judged");
  command.add_flag("--require-judged", request.require_judged,
                   "A verdict that could not be judged is red, whoever converted");
  return {executors, metamorphic};
}

std::optional<int> configure(RunRequest& request, run::RunConfig& config) {
  core::Result<Selection> selection = select(request.words, request.options, request.narrowing);
  if (!selection) {
    return report_error(selection.error());
  }
  if (!selection->unmatched.empty()) {
    return report_unmatched(selection->unmatched);
  }
  take_commands(selection->converters, request.converters);
  if (core::Status named = check_fault_nodes(request.converters, selection->items); !named) {
    return report_error(named.error());
  }
  core::Result<std::vector<programs::ConverterSpec>> converters =
      resolve_converters(request.converters, selection->converters);
  if (!converters) {
    return report_error(converters.error());
  }
  if (core::Status status = add_executors(request.executors, request.converters.no_sandbox, *converters); !status) {
    return report_error(status.error());
  }
  config.suite = selection->text;
  config.items = std::move(selection->items);
  config.expected_failures = std::move(selection->expected_failures);
  config.partial = !request.options.empty() || !request.narrowing.empty();
  if (request.metamorphic) {
    ask_all_relations(config.items);
  }
  config.converters = *std::move(converters);
  config.timeout_s = request.timeout_s;
  config.own_corpus = true;
  config.require_judged = request.require_judged;
  config.detail = report::kept_detail(request.keep_detail);
  config.memory_limit_bytes = bytes_of_gib(request.memory_gib);
  take_judge_limits(request.judging, config);
  return std::nullopt;
}

std::string limit_words(const RunRequest& request) {
  const RunRequest defaults;
  std::string words;
  if (request.timeout_s != defaults.timeout_s) words += fmt::format(" --timeout {:g}", request.timeout_s);
  if (request.memory_gib != defaults.memory_gib) words += fmt::format(" --memory {:g}", request.memory_gib);
  words += judge_limit_words(request.judging);
  return words;
}

std::string whole_command(const RunRequest& request, const std::string& selection, const std::string& more) {
  std::string command = "run " + selection + more + converter_words(request.converters);
  for (const std::string& executor : request.executors) command += " --execute-with " + shell_quoted(executor);
  if (!request.options.empty()) command += " --options " + shell_quoted(request.options);
  if (request.metamorphic) command += " --metamorphic";
  if (request.require_judged) command += " --require-judged";
  return command + limit_words(request);
}

std::string request_json(const RunRequest& request) {
  nlohmann::ordered_json object;
  visit_fields(request, [&](const char* name, const auto& value) { object[name] = value; });
  return object.dump();
}

core::Result<RunRequest> read_request(const std::string& json) {
  const core::Result<nlohmann::json> object = core::read_json<nlohmann::json>(json);
  if (!object) return object.error();
  RunRequest request;
  try {
    visit_fields(request, [&](const char* name, auto& value) { object->at(name).get_to(value); });
  } catch (const nlohmann::json::exception& exception) {
    return core::Error{
        core::ErrorKind::invalid_data, fmt::format("the plan's request: {}", exception.what()), {}, {}, {}};
  }
  return request;
}

}  // namespace assay::cli
