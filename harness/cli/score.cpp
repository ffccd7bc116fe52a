#include "harness/run/score.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "converters/embedded/embedded.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/score_artifacts.hpp"
#include "harness/cli/selection.hpp"
#include "harness/run/false_alarms.hpp"

namespace assay::cli {
namespace {

using nlohmann::ordered_json;
using run::ScoreReport;

struct Arguments {
  std::vector<std::string> words;
  std::vector<std::string> kinds;
  std::vector<std::string> faults;
  std::vector<std::string> variants;
  bool only_faults = false, only_variants = false;
  ArtifactArguments artifacts;
  int jobs = 0;
  bool json = false;
};

/// The least share of observable faults that must be killed, in percent (DESIGN's issue on the oracle).
double least_share(const std::string& kind) { return kind == "qdq" ? 100 : kind == "scales" ? 95 : 85; }

struct Share {
  std::size_t faults = 0, killed = 0;
  [[nodiscard]] double percent() const {
    return faults == 0 ? 0 : 100 * static_cast<double>(killed) / static_cast<double>(faults);
  }
};

Share share_of(const ScoreReport& report, const std::string& kind) {
  Share share;
  for (const auto& [fault, score] : report.kinds.at(kind)) {
    share.faults += score.observable() ? 1U : 0U;
    share.killed += score.killed() ? 1U : 0U;
  }
  return share;
}

/// Faults that nobody sees in any case: equivalent, or without a case that exercises them.
std::vector<std::string> unseen(const ScoreReport& report, const std::string& kind) {
  std::vector<std::string> names;
  for (const std::string& fault : report.faults) {
    const auto score = report.kinds.at(kind).find(fault);
    if (score == report.kinds.at(kind).end() || !score->second.observable()) names.push_back(fault);
  }
  return names;
}

bool is_red(const ScoreReport& report, const std::vector<std::string>& kinds, bool whole) {
  bool red = !report.false_alarms.empty() || !report.broken_claims.empty() ||
             (whole && !(report.idle_cases.empty() && report.unclaimed.empty())) ||
             !unseen(report, kinds.front()).empty();
  for (const std::string& kind : kinds) red = red || share_of(report, kind).percent() < least_share(kind);
  return red;
}

ordered_json number(const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(); }

ordered_json alarms_json(const std::vector<run::FalseAlarm>& alarms) {
  ordered_json list = ordered_json::array();
  for (const run::FalseAlarm& alarm : alarms) {
    list.push_back(
        {{"variant", alarm.variant}, {"case", alarm.case_name}, {"options", alarm.options}, {"reason", alarm.reason}});
  }
  return list;
}

void add_variants(ordered_json& json, const run::FalseAlarmReport& report) {
  if (!json.contains("false_alarms")) json["false_alarms"] = ordered_json::array();
  for (const ordered_json& alarm : alarms_json(report.alarms)) json["false_alarms"].push_back(alarm);
  json["variants"] = ordered_json::array();
  for (const run::VariantScore& each : report.variants) {
    json["variants"].push_back({{"variant", each.variant},
                                {"judgements", each.judgements},
                                {"known", each.known},
                                {"same", each.same},
                                {"refused", each.refused},
                                {"alarms", each.alarms},
                                {"skipped", each.skipped}});
  }
  json["unused_expectations"] = report.unused_expectations;
  json["false_alarm_judgements"] = report.judgements();
  json["false_alarm_upper_95"] = report.upper_bound();
}

ordered_json report_json(const ScoreReport& report, const std::vector<std::string>& kinds) {
  ordered_json json;
  json["faults"] = report.faults.size();
  json["killed"] = share_of(report, kinds.front()).killed;
  json["survivors"] = report.survivors(kinds.front());
  json["false_alarms"] = alarms_json(report.false_alarms);
  json["by_artifact"] = ordered_json::object();
  json["matrix"] = ordered_json::object();
  for (const std::string& kind : kinds) {
    const Share share = share_of(report, kind);
    json["by_artifact"][kind] = {{"faults", share.faults},
                                 {"killed", share.killed},
                                 {"survivors", report.survivors(kind)},
                                 {"unseen", unseen(report, kind)}};
    ordered_json& matrix = json["matrix"][kind] = ordered_json::object();
    for (const auto& [fault, score] : report.kinds.at(kind)) {
      matrix[fault] = {{"concerned", score.concerned.size()}, {"kills", score.kills}};
    }
  }
  json["effects"] = ordered_json::object();
  for (const auto& [fault, effect] : report.effects) {
    json["effects"][fault] = {{"median_db", number(effect.median())},
                              {"largest_db", number(effect.largest())},
                              {"changes_status", effect.changes_status},
                              {"changes_shape", effect.changes_shape}};
  }
  json["broken_claims"] = ordered_json::array();
  for (const auto& [name, fault] : report.broken_claims) {
    json["broken_claims"].push_back({{"case", name}, {"fault", fault}});
  }
  json["unclaimed"] = report.unclaimed;
  json["idle_cases"] = report.idle_cases;
  json["trials"] = report.trials;
  json["judgements"] = report.judgements;
  return json;
}

std::string decibels(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

void print_text(const ScoreReport& report, const std::vector<std::string>& kinds, bool whole) {
  fmt::print("{:<36}", "fault");
  for (const std::string& kind : kinds) fmt::print(" {:>14}", kind);
  fmt::print(" {:>10} {:>10}\n", "median dB", "largest dB");
  for (const std::string& fault : report.faults) {
    fmt::print("{:<36}", fault);
    for (const std::string& kind : kinds) {
      const auto score = report.kinds.at(kind).find(fault);
      const bool seen = score != report.kinds.at(kind).end();
      fmt::print(" {:>14}",
                 seen ? fmt::format("{}/{}", score->second.kills.size(), score->second.concerned.size()) : "-");
    }
    const auto effect = report.effects.find(fault);
    const bool measured = effect != report.effects.end();
    fmt::print(" {:>10} {:>10}\n", measured ? decibels(effect->second.median()) : "-",
               measured ? decibels(effect->second.largest()) : "-");
  }
  for (const std::string& kind : kinds) {
    const Share share = share_of(report, kind);
    fmt::print("\n{}: {} of {} observable faults killed, {:.1f} % (at least {} %)\n", kind, share.killed, share.faults,
               share.percent(), least_share(kind));
    for (const std::string& fault : report.survivors(kind)) fmt::print("  survives: {}\n", fault);
    for (const std::string& fault : unseen(report, kind)) fmt::print("  seen by no case: {}\n", fault);
  }
  for (const auto& [name, fault] : report.broken_claims) fmt::print("{} claims {} and does not kill it\n", name, fault);
  for (const std::string& fault : report.unclaimed) {
    if (whole) fmt::print("no case claims to kill {}\n", fault);
  }
  for (const std::string& name : report.idle_cases) {
    if (whole) fmt::print("{} kills nothing\n", name);
  }
  for (const run::FalseAlarm& alarm : report.false_alarms) {
    fmt::print("false alarm ({}): {}, options {}: {}\n", alarm.variant, alarm.case_name, alarm.options, alarm.reason);
  }
  fmt::print("{} trials, {} judgements, {} broken claims, {} idle cases, {} false alarms\n", report.trials,
             report.judgements, report.broken_claims.size(), whole ? report.idle_cases.size() : 0,
             report.false_alarms.size());
}

void print_alarms(const run::FalseAlarmReport& report) {
  fmt::print("{:<36} {:>10} {:>10} {:>8} {:>7} {:>7}\n", "variant", "judged", "same bits", "refused", "known",
             "alarms");
  for (const run::VariantScore& each : report.variants) {
    fmt::print("{:<36} {:>10} {:>10} {:>8} {:>7} {:>7}{}\n", each.variant, each.judgements, each.same, each.refused,
               each.known, each.alarms, each.skipped.empty() ? "" : "  skipped: " + each.skipped);
  }
  for (const run::FalseAlarm& alarm : report.alarms) {
    fmt::print("false alarm ({}): {}, options {}: {}\n", alarm.variant, alarm.case_name, alarm.options, alarm.reason);
  }
  for (const std::string& line : report.unused_expectations) fmt::print("{}\n", line);
  fmt::print("{} false alarms in {} judgements: a rate of at most {:.2g} (95 %)\n", report.alarms.size(),
             report.judgements(), report.upper_bound());
}

/// The faults that the selected cases claim, and those that no case of the whole corpus does: what another suite's
/// cases are there for is not measured by these.
core::Result<std::vector<std::string>> faults_of(const std::vector<run::RunItem>& items) {
  const core::Result<std::vector<corpus::Case>> corpus = corpus::load_corpus();
  if (!corpus) return corpus.error();
  std::set<std::string> here, anywhere;
  for (const run::RunItem& item : items) here.insert(item.test_case.kills.begin(), item.test_case.kills.end());
  for (const corpus::Case& each : *corpus) anywhere.insert(each.kills.begin(), each.kills.end());
  std::vector<std::string> faults;
  for (const embedded::FaultInfo& fault : embedded::fault_table()) {
    const std::string name(fault.name);
    if (here.contains(name) || !anywhere.contains(name)) faults.push_back(name);
  }
  return faults;
}

int score_command(const Arguments& arguments) {
  core::Result<Selection> selection = select(arguments.words, "");
  if (!selection) return report_error(selection.error());
  const bool named_faults = !arguments.faults.empty(), named_variants = !arguments.variants.empty();
  const bool with_faults = named_faults || !(arguments.only_variants || named_variants);
  const bool with_variants = named_variants || !(arguments.only_faults || named_faults);
  ordered_json json;
  bool red = false;
  if (with_faults) {
    run::ScoreConfig config;
    config.items = selection->items;
    config.faults = arguments.faults;
    if (!named_faults) {
      core::Result<std::vector<std::string>> faults = faults_of(config.items);
      if (!faults) return report_error(faults.error());
      config.faults = *std::move(faults);
    }
    config.kinds = arguments.kinds;
    config.jobs = arguments.jobs;
    const core::Result<ScoreReport> report = run::score(config);
    if (!report) return report_error(report.error());
    // Only all faults over all cases can tell whether a case kills nothing.
    const bool whole = !named_faults;
    json = report_json(*report, config.kinds);
    if (!arguments.json) print_text(*report, config.kinds, whole);
    red = is_red(*report, config.kinds, whole);
  }
  if (with_variants) {
    run::FalseAlarmConfig config;
    config.items = std::move(selection->items);
    config.variants = arguments.variants;
    config.kinds = arguments.kinds;
    config.jobs = arguments.jobs;
    config.expected_failures = std::move(selection->expected_failures);
    const core::Result<run::FalseAlarmReport> report = run::find_false_alarms(config);
    if (!report) return report_error(report.error());
    add_variants(json, *report);
    if (!arguments.json) print_alarms(*report);
    red = red || !(report->alarms.empty() && report->unused_expectations.empty());
  }
  if (arguments.json) fmt::print("{}\n", json.dump());
  return red ? kExitRed : kExitOk;
}

/// The judge on other people's artifacts (score_artifacts.hpp).
void add_artifact_options(CLI::App& command, ArtifactArguments& arguments) {
  command
      .add_option("--artifacts", arguments.converters,
                  "Put defects into the artifacts of this converter, NAME[@VERSION,…]; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--folder", arguments.folders,
                  "Into ready artifacts: a folder, or folders below it, with float.onnx, q.onnx, calibration.npz and "
                  "inputs.npz; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--falsify", arguments.falsify,
                   "Artifacts: times -1, 0 and 1.25 and two channels swapped behind every node and every output");
  command.add_option("--mutants", arguments.mutants, "Artifacts: random defects in each")->check(CLI::PositiveNumber);
  command.add_option("--seed", arguments.seed, "Artifacts: of the random defects");
  command.add_option("--mutant", arguments.only, "Artifacts: this one alone, as a survivor's command says");
  command.add_option("--options", arguments.options, "Artifacts: only the option set of this label");
  command.add_option("--keep", arguments.keep, "Artifacts: write every survivor into a folder below this one");
  command.add_option("--timeout", arguments.timeout_s, "Artifacts: seconds for one answer of a converter")
      ->check(CLI::PositiveNumber);
}

/// Options that only one of the two ways to measure takes.
constexpr std::array kOfArtifacts{"--falsify", "--mutants", "--seed", "--mutant", "--options", "--keep", "--timeout"};
constexpr std::array kOfFaults{"--fault", "--variant", "--faults", "--variants", "--artifact-kind"};

int dispatch(const CLI::App& command, Arguments& arguments) {
  ArtifactArguments& artifacts = arguments.artifacts;
  const bool of_artifacts = !artifacts.converters.empty() || !artifacts.folders.empty();
  const auto misplaced = [&](const auto& names, std::string_view why) -> std::optional<core::Error> {
    for (const char* name : names) {
      if (command.count(name) == 0) continue;
      return core::Error{core::ErrorKind::usage, fmt::format("{} {}", name, why), {}, {}, {}};
    }
    return std::nullopt;
  };
  const std::optional<core::Error> wrong =
      of_artifacts ? misplaced(kOfFaults,
                               "is about the embedded converter's faults and variants: leave it out, or "
                               "--artifacts and --folder")
                   : misplaced(kOfArtifacts, "changes artifacts: say whose with --artifacts or --folder");
  if (wrong) return report_error(*wrong);
  if (!of_artifacts) return score_command(arguments);
  artifacts.words = arguments.words;
  artifacts.jobs = arguments.jobs;
  artifacts.json = arguments.json;
  return score_artifacts_command(artifacts);
}

}  // namespace

void register_score(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  arguments->kinds = {"qdq", "scales", "opaque"};
  CLI::App* command =
      app.add_subcommand("score", "Measure Assay: the embedded converter's faults against the cases they concern");
  command->add_option("selection", arguments->words, "Suites and patterns on case names (default: suite default)");
  command->add_option("--artifact-kind", arguments->kinds, "What the judge may see: qdq, scales, opaque")
      ->allow_extra_args(false);
  command->add_option("--fault", arguments->faults, "Only these faults; may be repeated")->allow_extra_args(false);
  command->add_option("--variant", arguments->variants, "Only these correct variants; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--faults", arguments->only_faults, "Faults, no variants");
  command->add_flag("--variants", arguments->only_variants, "Correct variants, no faults");
  command->add_option("--jobs", arguments->jobs, "Cases at a time; 0: one per core")->check(CLI::NonNegativeNumber);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_artifact_options(*command, arguments->artifacts);
  command->callback(
      [arguments, command, &action] { action = [arguments, command] { return dispatch(*command, *arguments); }; });
}

}  // namespace assay::cli
