#include "harness/bundles/replay.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/quoted.hpp"
#include "harness/report/verdict.hpp"

namespace assay::cli {
namespace {

struct ReplayArguments {
  std::string folder;
  ConverterOptions converters;
  bool convert = false;
  double timeout_s = 600;
  JudgeLimitOptions judging;
  bool json = false;
};

/// The converter that the command line names, else the bundle's own.
core::Result<programs::ConverterSpec> converter_of(const ReplayArguments& arguments, const bundles::Bundle& bundle) {
  ConverterOptions options = arguments.converters;
  if (options.names.empty() && options.commands.empty()) {
    if (bundle.ready_artifact)
      return core::usage_error("the bundle's artifact was given, not converted; name a --converter");
    if (!bundle.asked.command.empty()) {
      return core::usage_error(
          fmt::format("the bundle was made by a command of whoever made it, which would run as you do: {}\nIf you "
                      "trust it, name it: "
                      "--converter-cmd {}",
                      bundle.asked.command, shell_quoted(bundle.asked.command)));
    }
    options = {{bundle.asked.name}, {}, bundle.asked.faults, bundle.asked.variant, options.no_sandbox};
  }
  core::Result<std::vector<programs::ConverterSpec>> converters = resolve_converters(options, {});
  if (!converters) return converters.error();
  if (converters->size() != 1) return core::usage_error("replay asks one converter, in one version");
  return converters->front();
}

core::Result<bundles::Replayed> replayed(const ReplayArguments& arguments, const bundles::Bundle& bundle) {
  const bool named = !arguments.converters.names.empty() || !arguments.converters.commands.empty();
  if (!arguments.convert) {
    return named ? core::Result<bundles::Replayed>(core::usage_error("a converter is asked only with --convert"))
                 : bundles::replay(bundle);
  }
  const core::Result<programs::ConverterSpec> converter = converter_of(arguments, bundle);
  if (!converter) return converter.error();
  return bundles::convert_again(bundle, *converter, arguments.timeout_s);
}

nlohmann::ordered_json replayed_json(const bundles::Replayed& replayed, const bundles::Bundle& bundle) {
  nlohmann::ordered_json json{{"same", replayed.same()},
                              {"recorded", bundle.verdict},
                              {"replayed", report::result_json(replayed.row)},
                              {"differences", nlohmann::ordered_json::array()}};
  for (const bundles::Difference& each : replayed.differences) {
    json["differences"].push_back(
        {{"what", each.what}, {"recorded", each.recorded}, {"replayed", each.replayed}, {"decides", each.decides}});
  }
  return json;
}

std::string replayed_text(const bundles::Replayed& replayed) {
  std::string text = report::verdict_line(replayed.row) + "\n";
  if (!replayed.row.reason.empty()) text += "  " + core::one_entry(replayed.row.reason) + "\n";
  for (const bundles::Difference& each : replayed.differences) {
    text +=
        fmt::format("  {} {}: recorded {}, now {}\n", each.what, each.decides ? "differs" : "is another measurement",
                    core::visible_line(each.recorded), core::visible_line(each.replayed));
  }
  return text + (replayed.same() ? "the verdict is the recorded one\n" : "the verdict is not the recorded one\n");
}

int replay_command(const ReplayArguments& arguments) {
  const core::Result<bundles::Bundle> bundle = bundles::read_bundle(arguments.folder);
  if (!bundle) return report_error(bundle.error());
  const core::Result<bundles::Replayed> again = replayed(arguments, *bundle);
  if (!again) return report_error(again.error());
  if (arguments.json) {
    print("{}\n", report::json_line(replayed_json(*again, *bundle)));
  } else {
    print("{}", replayed_text(*again));
  }
  return again->same() ? kExitOk : kExitRed;
}

}  // namespace

void register_replay(Command app, Action& action) {
  auto arguments = std::make_shared<ReplayArguments>();
  const Command command = app.add_subcommand(
      "replay", "Judge a bundle again, from its folder alone: 0 where the verdict is the recorded one, else 1");
  command.add_option("folder", arguments->folder, "Folder that `assay bundle` made").required();
  command.add_flag("--convert", arguments->convert,
                   "Convert and execute again, by the bundle's converter or the one named here");
  add_converter_options(command, arguments->converters);
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  add_judge_limits(command, arguments->judging);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] {
    action = guarded([arguments] { return replay_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
