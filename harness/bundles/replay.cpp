#include "harness/bundles/replay.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "harness/bundles/recording.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/subject.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/result_row.hpp"

namespace assay::bundles {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

// What makes a verdict another one, and what is only measured when a converter is asked again.
constexpr std::array<std::string_view, 5> kDeciding{"verdict", "gate", "stage", "facet", "node"};
constexpr std::array<std::string_view, 7> kMeasured{"reason", "margin",   "sqnr_db", "layers",
                                                    "style",  "findings", "lost_at"};

/// Without each run of folders "/a/b/" that begins a word.
std::string text_without_folders(std::string_view text) {
  constexpr std::string_view kBefore = " \t\n\v\f\r\"'(=", kNoFolder = " \t\n\v\f\r\"'/";
  std::string left;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '/' && (i == 0 || kBefore.find(text[i - 1]) != std::string_view::npos)) {
      std::size_t next = text.find_first_of(kNoFolder, end);
      while (next != std::string_view::npos && next != end && text[next] == '/') {
        end = next + 1;
        next = text.find_first_of(kNoFolder, end);
      }
    }
    if (end == i + 1) left += text[i];
    i = end;
  }
  return left;
}

/// A value without the folders that files lay in, which every run names anew.
ordered_json without_folders(const ordered_json& value) {
  if (value.is_string()) return text_without_folders(value.get_ref<const std::string&>());
  if (!value.is_structured()) return value;
  ordered_json out = value;
  for (ordered_json& each : out) each = without_folders(each);
  return out;
}

std::string shown(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// Runs the bundle's case as its verdict was made, through `converter`.
core::Result<results::ResultRow> judge_bundle(const Bundle& bundle, converters::Converter& converter,
                                              const converters::Description& description, bool ready, bool recorded) {
  const auto begin = std::chrono::steady_clock::now();
  const core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(bundle.test_case, bundle.data);
  if (!bench) return bench.error();
  run::Trial trial;
  if (ready) {
    const std::string stated = bundle.options_stated ? bundle.options.options_json : "{}";
    trial = (*bench)->attempt_artifact(converter, description, bundle.conversions.back().reply.artifact, stated);
  } else {
    trial = (*bench)->attempt(converter, description, bundle.options.options_json);
  }
  if (recorded) {
    trial.related = true;
    trial.relations = bundle.relations;
    std::ranges::copy(bundle.relations.findings, std::back_inserter(trial.evidence.recorded));
  }
  (*bench)->relate(converter, trial);
  run::Evaluation evaluation;
  evaluation.conversion = trial.evidence.conversion;
  evaluation.artifact_kind = trial.artifact_kind;
  evaluation.judgement = (*bench)->judge(std::move(trial), 1);
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run::result_row({bundle.test_case.name, bundle.options.label, description.name, description.version},
                         bundle.test_case, evaluation, {});
}

core::Result<Replayed> compared(const Bundle& bundle, core::Result<results::ResultRow> row, bool measured_anew) {
  if (!row) return row.error();
  // Through text, as the recorded one came.
  const std::string text = report::result_json(*row).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::vector<Difference> found = differences(bundle.verdict, ordered_json::parse(text), measured_anew);
  return Replayed{*std::move(row), std::move(found)};
}

}  // namespace

bool Replayed::same() const { return std::ranges::none_of(differences, &Difference::decides); }

std::vector<Difference> differences(const ordered_json& recorded, const ordered_json& replayed, bool measured_anew) {
  std::vector<Difference> found;
  const auto compare = [&](std::string_view key, bool decides) {
    const std::string name(key);
    const ordered_json before = without_folders(recorded.value(name, ordered_json(nullptr)));
    const ordered_json now = without_folders(replayed.value(name, ordered_json(nullptr)));
    if (before != now) found.push_back({name, shown(before), shown(now), decides});
  };
  for (const std::string_view key : kDeciding) compare(key, true);
  for (const std::string_view key : kMeasured) compare(key, !measured_anew);
  return found;
}

core::Result<Replayed> replay(const Bundle& bundle) {
  const std::unique_ptr<converters::Converter> playback = make_playback(bundle);
  return compared(bundle, judge_bundle(bundle, *playback, bundle.description, bundle.ready_artifact, true), false);
}

core::Result<Replayed> convert_again(const Bundle& bundle, const programs::ConverterSpec& converter, double timeout_s) {
  if (!converter.unavailable.empty()) {
    return core::Error{core::ErrorKind::usage, converter.unavailable, {}, {}, {}};
  }
  const programs::Subject subject = programs::describe(converter, {.timeout_s = timeout_s});
  if (!subject.broken.empty()) return core::Error{core::ErrorKind::usage, subject.broken, {}, {}, {}};
  return compared(bundle, judge_bundle(bundle, *subject.client, subject.description, false, false), true);
}

}  // namespace assay::bundles
