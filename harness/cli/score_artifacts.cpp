#include "harness/cli/score_artifacts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "converters/embedded/embedded.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/selection.hpp"
#include "harness/run/artifact_score.hpp"
#include "harness/run/subject.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using run::Escape;
using run::Fate;
using run::FateCounts;

core::Error usage(std::string message) { return {core::ErrorKind::usage, std::move(message), {}, {}, {}}; }

/// Processes of one converter, started when first asked for and kept for the next case.
class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(run::ConverterSpec spec, run::ClientLimits limits) : spec_(std::move(spec)), limits_(limits) {}

  void keep(std::unique_ptr<converters::Converter> client) {
    const std::scoped_lock lock(mutex_);
    if (client != nullptr) idle_.push_back(std::move(client));
  }
  std::shared_ptr<converters::Converter> borrow() {
    std::unique_ptr<converters::Converter> client;
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        client = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (client == nullptr) client = run::start_client(spec_, limits_);
    return {client.release(), [pool = shared_from_this()](converters::Converter* done) {
              pool->keep(std::unique_ptr<converters::Converter>(done));
            }};
  }

 private:
  run::ConverterSpec spec_;
  run::ClientLimits limits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<converters::Converter>> idle_;
};

core::Result<std::shared_ptr<converters::Converter>> make_embedded() {
  auto converter = embedded::make_embedded({}, "", embedded::make_shared_work());
  if (!converter) return converter.error();
  return std::shared_ptr<converters::Converter>(*std::move(converter));
}

core::Result<run::ArtifactSource> source_of(const run::ConverterSpec& spec, double timeout_s) {
  if (spec.is_reference()) return usage("\"reference\" converts nothing, so that it has no artifacts");
  if (spec.name == "embedded") {
    core::Result<std::shared_ptr<converters::Converter>> converter = make_embedded();
    if (!converter) return converter.error();
    core::Result<converters::Description> description = (*converter)->describe();
    if (!description) return description.error();
    return run::ArtifactSource{spec.name, *std::move(description), &make_embedded};
  }
  const run::ClientLimits limits{timeout_s, 0};
  run::Subject subject = run::describe(spec, limits);
  for (const std::string& reason : {subject.unavailable(), subject.broken}) {
    if (!reason.empty()) return usage(fmt::format("\"{}\" can't be asked here: {}", spec.name, reason));
  }
  auto pool = std::make_shared<ClientPool>(spec, limits);
  pool->keep(std::move(subject.client));
  return run::ArtifactSource{
      spec.name + "@" + subject.description.version, subject.description,
      [pool]() -> core::Result<std::shared_ptr<converters::Converter>> { return pool->borrow(); }};
}

core::Result<std::vector<run::ArtifactSource>> sources_of(const ArtifactArguments& arguments) {
  std::vector<run::ArtifactSource> sources;
  for (const std::string& name : arguments.converters) {
    core::Result<std::vector<run::ConverterSpec>> specs = run::parse_converter(name, own_program(), {}, "");
    if (!specs) return specs.error();
    for (const run::ConverterSpec& spec : *specs) {
      core::Result<run::ArtifactSource> source = source_of(spec, arguments.timeout_s);
      if (!source) return source.error();
      sources.push_back(*std::move(source));
    }
  }
  return sources;
}

/// `given`, or every folder below it that holds an artifact, by name.
core::Result<std::vector<fs::path>> artifact_folders(const std::vector<std::string>& given) {
  std::vector<fs::path> folders;
  for (const std::string& each : given) {
    const std::size_t before = folders.size();
    std::error_code code;
    if (fs::exists(fs::path(each) / "q.onnx", code)) folders.emplace_back(each);
    for (fs::recursive_directory_iterator it(each, code), end; !code && it != end; it.increment(code)) {
      if (it->is_directory(code) && fs::exists(it->path() / "q.onnx", code)) folders.push_back(it->path());
    }
    if (folders.size() == before) {
      return usage(
          fmt::format("folder \"{}\" holds no artifact: one is a folder with float.onnx, q.onnx, "
                      "calibration.npz and inputs.npz (or folders of these names)",
                      each));
    }
    std::sort(folders.begin() + static_cast<std::ptrdiff_t>(before), folders.end());
  }
  return folders;
}

/// The command that tries this one again.
std::string repeat_command(const ArtifactArguments& arguments, const Escape& escape) {
  std::string command = "./assay score";
  // A folder's artifacts may be tried without a converter.
  if (!escape.source.empty()) command += " --artifacts " + shell_quoted(escape.source);
  if (arguments.folders.empty()) {
    command += " " + shell_quoted(escape.case_name) + " --options " + shell_quoted(escape.options);
  } else {
    command += " --folder " + shell_quoted(escape.case_name);
  }
  if (arguments.falsify) command += " --falsify";
  if (!arguments.falsify && arguments.seed != 1) command += fmt::format(" --seed {}", arguments.seed);
  return command + fmt::format(" --mutant {}", escape.index);
}

std::string check_command(const Escape& escape) {
  const auto in = [&](const char* name) { return shell_quoted((escape.kept / name).string()); };
  return fmt::format("./assay check {} --artifact {} --calibration {} --inputs {}", in("float.onnx"), in("q.onnx"),
                     in("calibration"), in("inputs"));
}

ordered_json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json();
}

ordered_json counts_json(const FateCounts& counts) {
  ordered_json json{{"tried", counts.tried()}, {"visible", counts.visible()}};
  for (const Fate fate : {Fate::red, Fate::unjudged, Fate::passed, Fate::failed, Fate::hidden, Fate::not_run}) {
    json[fate == Fate::not_run ? "not_run" : std::string(run::fate_name(fate))] = counts.of(fate);
  }
  return json;
}

using Groups = std::map<std::pair<std::string, std::string>, FateCounts>;

ordered_json groups_json(const Groups& groups) {
  ordered_json json = ordered_json::object();
  for (const auto& [key, counts] : groups) json[key.first][key.second] = counts_json(counts);
  return json;
}

ordered_json troubles_json(const std::vector<run::PlainTrouble>& troubles) {
  ordered_json list = ordered_json::array();
  for (const run::PlainTrouble& each : troubles) {
    list.push_back(
        {{"converter", each.source}, {"case", each.case_name}, {"options", each.options}, {"reason", each.reason}});
  }
  return list;
}

ordered_json report_json(const ArtifactArguments& arguments, const run::ArtifactScoreReport& report) {
  ordered_json json;
  json["artifacts"] = report.artifacts;
  json["total"] = counts_json(report.total());
  json[arguments.falsify ? "operators" : "defects"] = groups_json(report.groups);
  if (arguments.falsify) json["falsifications"] = groups_json(report.kinds);
  json["executed_by"] = report.executors;
  json["false_alarms"] = troubles_json(report.false_alarms);
  json["left_out"] = troubles_json(report.left_out);
  json["listed"] = ordered_json::array();
  for (const Escape& each : report.escapes) {
    json["listed"].push_back({{"fate", run::fate_name(each.fate)},
                              {"converter", each.source},
                              {"case", each.case_name},
                              {"options", each.options},
                              {"group", each.group},
                              {"node", each.node},
                              {"op", each.op},
                              {"defect", each.what},
                              {"verdict", each.verdict},
                              {"reason", each.reason},
                              {"plain_db", number(each.plain_db)},
                              {"changed_db", number(each.changed_db)},
                              {"predicted_db", number(each.predicted_db)},
                              {"prediction_gates", each.prediction_gates},
                              {"margin", number(each.margin)},
                              {"executor", each.executor},
                              {"kept", each.kept.string()},
                              {"repeat", repeat_command(arguments, each)}});
  }
  return json;
}

std::string decibels(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

void print_groups(const Groups& groups, std::string_view what) {
  fmt::print("\n{:<52} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", what, "tried", "not run", "visible", "red",
             "unjudged", "passed", "failed");
  const auto row = [](const std::string& name, const FateCounts& counts) {
    fmt::print("{:<52} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", name, counts.tried(), counts.of(Fate::not_run),
               counts.visible(), counts.of(Fate::red), counts.of(Fate::unjudged), counts.of(Fate::passed),
               counts.of(Fate::failed));
  };
  for (const auto& [key, counts] : groups) {
    row(key.first.empty() ? key.second : key.first + ", " + key.second, counts);
  }
}

void print_escape(const ArtifactArguments& arguments, const Escape& each) {
  fmt::print("{}: {} {}{}, {}: node \"{}\" ({}): {}\n", run::fate_name(each.fate), each.source, each.case_name,
             each.options.empty() ? "" : ", options " + each.options, each.group, each.node, each.op, each.what);
  fmt::print("  {} dB, plain {} dB, predicted {} dB{}; {}verdict {}{}{}\n", decibels(each.changed_db),
             decibels(each.plain_db), decibels(each.predicted_db),
             each.predicted_db && !each.prediction_gates ? " (which doesn't gate)" : "",
             each.margin ? fmt::format("{:.2g} of the bound, ", *each.margin) : "", each.verdict,
             each.reason.empty() ? "" : ": ", each.reason);
  fmt::print("  repeat: {}\n", repeat_command(arguments, each));
  if (!each.kept.empty()) fmt::print("  as files: {}\n", check_command(each));
}

void print_troubles(const std::vector<run::PlainTrouble>& troubles, std::string_view what) {
  for (const run::PlainTrouble& each : troubles) {
    fmt::print("{}: {} {}{}: {}\n", what, each.source, each.case_name,
               each.options.empty() ? "" : ", options " + each.options, each.reason);
  }
}

void print_text(const ArtifactArguments& arguments, const run::ArtifactScoreReport& report) {
  print_groups(report.groups, arguments.falsify ? "operator falsified" : "kind of defect");
  if (arguments.falsify) print_groups(report.kinds, "falsification");
  fmt::print("\n");
  for (const Escape& each : report.escapes) print_escape(arguments, each);
  print_troubles(report.false_alarms, "false alarm on the plain artifact");
  print_troubles(report.left_out, "left out");
  const FateCounts total = report.total();
  const double share =
      total.visible() == 0 ? 0 : 100 * static_cast<double>(total.of(Fate::red)) / static_cast<double>(total.visible());
  for (const auto& [name, count] : report.executors) fmt::print("executed by {}: {}\n", name, count);
  fmt::print(
      "{} artifacts, {} changed, {} not run, {} visible: {} red ({:.2f} %), {} unjudged, {} passed, {} failed; "
      "{} false alarms\n",
      report.artifacts, total.tried(), total.of(Fate::not_run), total.visible(), total.of(Fate::red), share,
      total.of(Fate::unjudged), total.of(Fate::passed), total.of(Fate::failed), report.false_alarms.size());
}

core::Result<run::ArtifactScoreConfig> config_of(const ArtifactArguments& arguments) {
  run::ArtifactScoreConfig config;
  core::Result<std::vector<run::ArtifactSource>> sources = sources_of(arguments);
  if (!sources) return sources.error();
  config.sources = *std::move(sources);
  if (!arguments.folders.empty()) {
    core::Result<std::vector<fs::path>> folders = artifact_folders(arguments.folders);
    if (!folders) return folders.error();
    config.folders = *std::move(folders);
  } else {
    core::Result<Selection> selection = select(arguments.words, arguments.options);
    if (!selection) return selection.error();
    if (!selection->unmatched.empty()) return usage(selection->unmatched);
    config.items = std::move(selection->items);
    std::erase_if(config.items, [](const run::RunItem& item) { return item.test_case.stored_case.has_value(); });
  }
  config.falsify = arguments.falsify;
  config.mutants = arguments.mutants;
  config.seed = arguments.seed;
  config.only = arguments.only;
  config.keep = arguments.keep;
  config.jobs = arguments.jobs;
  return config;
}

}  // namespace

int score_artifacts_command(const ArtifactArguments& arguments) {
  const core::Result<run::ArtifactScoreConfig> config = config_of(arguments);
  if (!config) return report_error(config.error());
  const core::Result<run::ArtifactScoreReport> report = run::score_artifacts(*config);
  if (!report) return report_error(report.error());
  if (arguments.json) {
    fmt::print("{}\n", report_json(arguments, *report).dump());
  } else {
    print_text(arguments, *report);
  }
  if (report->artifacts == 0 && report->false_alarms.empty()) {
    fmt::print(stderr, "assay: no artifact came of what is selected\n");
    return kExitIncomplete;
  }
  const bool passed = report->total().of(Fate::passed) > 0;
  return passed || !report->false_alarms.empty() ? kExitRed : kExitOk;
}

}  // namespace assay::cli
