#include "harness/cli/score_artifacts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

#include "converters/embedded/embedded.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/words.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/mutants/artifact_score.hpp"
#include "harness/programs/subject.hpp"
#include "harness/report/artifact_score_report.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using mutants::Escape;
using mutants::Fate;

/// Processes of one converter, started when first asked for and kept for the next case.
class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(programs::ConverterSpec spec, programs::ClientLimits limits) : spec_(std::move(spec)), limits_(limits) {}

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
    if (client == nullptr) client = programs::start_client(spec_, limits_);
    return {client.release(), [pool = shared_from_this()](converters::Converter* done) {
              pool->keep(std::unique_ptr<converters::Converter>(done));
            }};
  }

 private:
  programs::ConverterSpec spec_;
  programs::ClientLimits limits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<converters::Converter>> idle_;
};

core::Result<std::shared_ptr<converters::Converter>> make_embedded() {
  auto converter = embedded::make_embedded({}, "", embedded::make_shared_work());
  if (!converter) return converter.error();
  return std::shared_ptr<converters::Converter>(*std::move(converter));
}

core::Result<mutants::ArtifactSource> source_of(const programs::ConverterSpec& spec, double timeout_s) {
  if (spec.is_reference()) return core::usage_error("\"reference\" converts nothing, so that it has no artifacts");
  if (spec.name == "embedded") {
    core::Result<std::shared_ptr<converters::Converter>> converter = make_embedded();
    if (!converter) return converter.error();
    core::Result<converters::Description> description = (*converter)->describe();
    if (!description) return description.error();
    return mutants::ArtifactSource{spec.name, *std::move(description), &make_embedded, {}};
  }
  const programs::ClientLimits limits{timeout_s, 0};
  programs::Subject subject = programs::describe(spec, limits);
  for (const std::string& reason : {subject.unavailable(), subject.broken}) {
    if (!reason.empty()) return core::usage_error(fmt::format("\"{}\" can't be asked here: {}", spec.name, reason));
  }
  auto pool = std::make_shared<ClientPool>(spec, limits);
  pool->keep(std::move(subject.client));
  return mutants::ArtifactSource{
      spec.name + "@" + subject.description.version,
      subject.description,
      [pool]() -> core::Result<std::shared_ptr<converters::Converter>> { return pool->borrow(); },
      {}};
}

core::Result<std::vector<mutants::ArtifactSource>> sources_of(const ArtifactArguments& arguments) {
  std::vector<mutants::ArtifactSource> sources;
  for (const std::string& name : arguments.converters) {
    core::Result<std::vector<programs::ConverterSpec>> specs =
        resolve_converters({{name}, {}, {}, "", arguments.no_sandbox}, {});
    if (!specs) return specs.error();
    for (programs::ConverterSpec& spec : *specs) {
      std::error_code code;
      for (const std::string& folder : arguments.folders) spec.rights.reads.push_back(fs::absolute(folder, code));
      core::Result<mutants::ArtifactSource> source = source_of(spec, arguments.timeout_s);
      if (!source) return source.error();
      if (!arguments.folders.empty() && spec.name != "embedded") {
        core::Result<run::MadeBy> made_by = run::made_by(arguments.made_by.empty() ? source->name : arguments.made_by);
        if (!made_by) return made_by.error();
        source->made_by = *std::move(made_by);
      }
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
      return core::usage_error(
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
  std::string command = corpus::command_word() + " score";
  // A folder's artifacts may be tried without a converter.
  if (!escape.source.empty()) command += " --artifacts " + shell_quoted(escape.source);
  if (arguments.folders.empty()) {
    command += " " + shell_quoted(escape.case_name) + " --options " + shell_quoted(escape.options);
  } else {
    command += " --folder " + shell_quoted(escape.case_name);
    if (!arguments.made_by.empty()) command += " --made-by " + shell_quoted(arguments.made_by);
  }
  if (arguments.kind != converters::ArtifactKind::qdq) {
    command += fmt::format(" --artifact-kind {}", core::word_of(arguments.kind));
  }
  if (arguments.falsify) command += " --falsify";
  if (!arguments.falsify && arguments.seed != 1) command += fmt::format(" --seed {}", arguments.seed);
  return command + fmt::format(" --mutant {}", escape.index);
}

std::string check_command(const Escape& escape) {
  const auto in = [&](const char* name) { return shell_quoted((escape.kept / name).string()); };
  return fmt::format("{} check {} --artifact {} --calibration {} --inputs {}", corpus::command_word(), in("float.onnx"),
                     in("q.onnx"), in("calibration"), in("inputs"));
}

core::Result<mutants::ArtifactScoreConfig> config_of(const ArtifactArguments& arguments) {
  mutants::ArtifactScoreConfig config;
  core::Result<std::vector<mutants::ArtifactSource>> sources = sources_of(arguments);
  if (!sources) return sources.error();
  config.sources = *std::move(sources);
  if (!arguments.folders.empty()) {
    core::Result<std::vector<fs::path>> folders = artifact_folders(arguments.folders);
    if (!folders) return folders.error();
    config.folders = *std::move(folders);
    core::Result<run::MadeBy> anybody = run::made_by("");
    if (!anybody) return anybody.error();
    config.made_by = *std::move(anybody);
  } else {
    core::Result<Selection> selection = select_converted(arguments.words, arguments.options);
    if (!selection) return selection.error();
    config.items = std::move(selection->items);
  }
  config.kind = arguments.kind;
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
  const core::Result<mutants::ArtifactScoreConfig> config = config_of(arguments);
  if (!config) return report_error(config.error());
  const core::Result<mutants::ArtifactScoreReport> report = mutants::score_artifacts(*config);
  if (!report) return report_error(report.error());
  const report::EscapeCommands commands{[&](const Escape& each) { return repeat_command(arguments, each); },
                                        &check_command};
  if (arguments.json) {
    print("{}\n", report::artifact_score_json(*report, arguments.falsify, commands).dump());
  } else {
    print("{}", here(report::artifact_score_text(*report, arguments.falsify, commands)));
  }
  if (report->artifacts == 0 && report->false_alarms.empty()) {
    print(stderr, "assay: no artifact came of what is selected\n");
    return kExitIncomplete;
  }
  const bool passed = report->total().of(Fate::passed) > 0;
  return passed || (arguments.falsify && report->overclaimed() > 0) || !report->false_alarms.empty() ? kExitRed
                                                                                                     : kExitOk;
}

}  // namespace assay::cli
