#include "harness/score/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "converters/embedded/switchable.hpp"
#include "converters/veiled.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/score_artifacts.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/text.hpp"
#include "harness/report/score_report.hpp"
#include "harness/score/false_alarms.hpp"
#include "harness/score/share.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

using nlohmann::ordered_json;

struct ScoreArguments {
  std::vector<std::string> words;
  std::vector<std::string> kinds;
  std::vector<std::string> faults;
  std::vector<std::string> variants;
  bool only_faults = false, only_variants = false;
  ArtifactArguments artifacts;
  int jobs = 0;
  JudgeLimitOptions judging;
  bool json = false;
  std::string database;
};

/// The faults that the selected cases claim, and those that no case of the whole corpus does: what another suite's
/// cases are there for is not measured by these.
core::Result<std::vector<std::string>> faults_of(const std::vector<run::RunItem>& items) {
  const core::Result<std::vector<corpus::Case>> corpus = corpus::load_corpus();
  if (!corpus) return corpus.error();
  std::set<std::string> here, anywhere;
  for (const run::RunItem& item : items) here.insert(item.test_case.kills.begin(), item.test_case.kills.end());
  for (const corpus::Case& each : *corpus) anywhere.insert(each.kills.begin(), each.kills.end());
  std::vector<std::string> faults;
  for (const converters::Switchable::Fault& fault : embedded::switchable().faults) {
    if (here.contains(fault.name) || !anywhere.contains(fault.name)) faults.push_back(fault.name);
  }
  return faults;
}

int score_command(const ScoreArguments& arguments) {
  core::Result<Selection> selection = select_converted(arguments.words, "");
  if (!selection) return report_error(selection.error());
  std::vector<converters::ArtifactKind> kinds;
  for (const std::string& word : arguments.kinds) {
    const core::Result<converters::ArtifactKind> kind = converters::artifact_kind(word);
    if (!kind) return report_error(kind.error());
    kinds.push_back(*kind);
  }
  const bool named_faults = !arguments.faults.empty(), named_variants = !arguments.variants.empty();
  const bool with_faults = named_faults || !(arguments.only_variants || named_variants);
  const bool with_variants = named_variants || !(arguments.only_faults || named_faults);
  ordered_json json;
  bool red = false;
  if (with_faults) {
    score::ScoreConfig config;
    config.converter = embedded::switchable();
    config.items = selection->items;
    config.faults = arguments.faults;
    if (!named_faults) {
      core::Result<std::vector<std::string>> faults = faults_of(config.items);
      if (!faults) return report_error(faults.error());
      config.faults = *std::move(faults);
    }
    config.kinds = kinds;
    config.jobs = arguments.jobs;
    const core::Result<score::ScoreReport> report = score::score(config);
    if (!report) return report_error(report.error());
    // Only all faults over all cases can tell whether a case kills nothing.
    const bool whole = !named_faults;
    json = report::score_json(*report, config.kinds);
    if (!arguments.json) print("{}", report::score_text(*report, config.kinds, whole));
    red = score::is_red(*report, config.kinds, whole);
  }
  if (with_variants) {
    score::FalseAlarmConfig config;
    config.converter = embedded::switchable();
    config.items = std::move(selection->items);
    config.variants = arguments.variants;
    config.kinds = kinds;
    config.jobs = arguments.jobs;
    config.expected_failures = std::move(selection->expected_failures);
    const core::Result<score::FalseAlarmReport> report = score::find_false_alarms(config);
    if (!report) return report_error(report.error());
    report::add_variants(json, *report);
    if (!arguments.json) print("{}", report::alarms_text(*report));
    red = red || !(report->alarms.empty() && report->unused_expectations.empty());
  }
  if (arguments.json) print("{}\n", json.dump());
  if (!arguments.database.empty()) {
    core::Result<results::Store> store = results::Store::open(arguments.database);
    const core::Status kept = store ? store->record_score("score " + core::join(arguments.words, " "), json.dump())
                                    : core::Status(store.error());
    if (!kept) return report_error(kept.error());
  }
  return red ? kExitRed : kExitOk;
}

/// The judge on other people's artifacts (score_artifacts.hpp).
void add_artifact_options(Command command, ArtifactArguments& arguments) {
  command
      .add_option("--artifacts", arguments.converters,
                  "Put defects into the artifacts of this converter, NAME[@VERSION,…]; may be repeated")
      .allow_extra_args(false);
  command
      .add_option("--folder", arguments.folders,
                  "Into ready artifacts: a folder, or folders below it, with float.onnx, q.onnx, calibration.npz and "
                  "inputs.npz; several may follow, or be repeated")
      .allow_extra_args(false);
  command
      .add_option(
          "--made-by", arguments.made_by,
          "NAME[@VERSION][:SETTINGS] of the converter that made the ready artifacts (left out: that of --artifacts)")
      .needs("--folder");
  command.add_flag("--falsify", arguments.falsify,
                   "Artifacts: times -1, 0 and 1.25 and two channels swapped behind every node and every output");
  command.add_option("--mutants", arguments.mutants, "Artifacts: random defects in each").check(Check::positive);
  command.add_option("--seed", arguments.seed, "Artifacts: of the random defects");
  command.add_option("--mutant", arguments.only, "Artifacts: this one alone, as a survivor's command says");
  command.add_option("--options", arguments.options, "Artifacts: only the option set of this label");
  command.add_option("--keep", arguments.keep, "Artifacts: write every survivor into a folder below this one");
  add_no_sandbox(command, arguments.no_sandbox);
  command.add_option("--timeout", arguments.timeout_s, "Artifacts: seconds for one answer of a converter")
      .check(Check::positive);
}

/// Options that only one of the two ways to measure takes.
constexpr std::array kOfArtifacts{"--no-sandbox", "--falsify", "--mutants", "--seed",
                                  "--mutant",     "--options", "--keep",    "--timeout"};
constexpr std::array kOfFaults{"--fault", "--variant", "--faults", "--variants"};

bool is_of_artifacts(const ScoreArguments& arguments) {
  return !arguments.artifacts.converters.empty() || !arguments.artifacts.folders.empty();
}

/// An option that the command line names and that belongs to the other way to measure.
std::optional<core::Error> misplaced_option(Command command, const ScoreArguments& arguments) {
  const auto find = [&](const auto& names, std::string_view why) -> std::optional<core::Error> {
    for (const char* name : names) {
      if (command.count(name) == 0) continue;
      return core::Error{core::ErrorKind::usage, fmt::format("{} {}", name, why), {}, {}, {}};
    }
    return std::nullopt;
  };
  return is_of_artifacts(arguments)
             ? find(kOfFaults,
                    "is about the embedded converter's faults and variants: leave it out, or --artifacts and --folder")
             : find(kOfArtifacts, "changes artifacts: say whose with --artifacts or --folder");
}

int dispatch(ScoreArguments& arguments, bool kind_named) {
  if (!is_of_artifacts(arguments)) return score_command(arguments);
  ArtifactArguments& artifacts = arguments.artifacts;
  if (kind_named) {
    if (arguments.kinds.size() != 1) {
      return report_error({core::ErrorKind::usage, "--artifacts and --folder take one --artifact-kind", {}, {}, {}});
    }
    const core::Result<converters::ArtifactKind> kind = converters::artifact_kind(arguments.kinds.front());
    if (!kind) return report_error(kind.error());
    artifacts.kind = *kind;
  }
  // Ready artifacts are selected by their folders alone: "--folder A B" names two.
  std::vector<std::string>& names = artifacts.folders.empty() ? artifacts.words : artifacts.folders;
  names.insert(names.end(), arguments.words.begin(), arguments.words.end());
  artifacts.jobs = arguments.jobs;
  artifacts.json = arguments.json;
  return score_artifacts_command(artifacts);
}

}  // namespace

void register_score(Command app, Action& action) {
  auto arguments = std::make_shared<ScoreArguments>();
  arguments->kinds = core::all_words<converters::ArtifactKind>();
  const Command command =
      app.add_subcommand("score", "Measure Assay: the embedded converter's faults against the cases they concern");
  command.add_option("selection", arguments->words, "Suites and patterns on case names (default: suite default)");
  command
      .add_option("--artifact-kind", arguments->kinds,
                  "What the judge may see: qdq, scales, opaque (artifacts: one; qdq where left out)")
      .allow_extra_args(false);
  command.add_option("--fault", arguments->faults, "Only these faults; may be repeated").allow_extra_args(false);
  command.add_option("--variant", arguments->variants, "Only these correct variants; may be repeated")
      .allow_extra_args(false);
  command.add_flag("--faults", arguments->only_faults, "Faults, no variants");
  command.add_flag("--variants", arguments->only_variants, "Correct variants, no faults");
  command.add_option("--jobs", arguments->jobs, "Cases at a time; 0: one per core").check(Check::non_negative);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.add_option("--db", arguments->database, "Keep what was measured in this database, for `assay report --html`");
  add_artifact_options(command, arguments->artifacts);
  add_judge_limits(command, arguments->judging);
  command.callback([arguments, command, &action] {
    action = guarded(
        [arguments, wrong = misplaced_option(command, *arguments), kind = command.count("--artifact-kind") > 0] {
          return wrong ? report_error(*wrong) : dispatch(*arguments, kind);
        },
        [arguments] { return judge_limits_of(arguments->judging, arguments->artifacts.timeout_s); });
  });
}

}  // namespace assay::cli
