#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/run/runner.hpp"

namespace assay::mutants {

/// A converter whose artifacts are tried.
struct ArtifactSource {
  std::string name;  ///< as the command line says it, with its version
  converters::Description description;
  /// One that nobody else uses until it is let go; called from several threads.
  std::function<core::Result<std::shared_ptr<converters::Converter>>()> borrow;
  run::MadeBy made_by = {};  ///< what a ready artifact of it is judged by; none: by what `description` states
};

/// How the judge is tried on other people's artifacts: each is changed, executed and judged again, as `assay check
/// FLOAT --artifact Q --calibration … --inputs …` would: what a source converts here under the policy that it states, a
/// ready artifact as that of one of the source's policies, or with no source of any known converter's.
struct ArtifactScoreConfig {
  std::vector<run::RunItem> items;             ///< converted by every source
  std::vector<std::filesystem::path> folders;  ///< ready artifacts (load_ready_artifact), instead of `items`
  std::vector<ArtifactSource> sources;         ///< none, with folders: the reference executes
  run::MadeBy made_by;                         ///< of folders without a source
  converters::ArtifactKind kind = converters::ArtifactKind::qdq;  ///< what the judge sees of each
  bool falsify = false;                        ///< every place in turn, instead of random defects
  std::size_t mutants = 26;                    ///< random defects in each artifact
  std::uint64_t seed = 1;
  std::optional<std::size_t> only;  ///< this one alone, and whatever comes of it is listed
  std::filesystem::path keep;       ///< listed ones are written below it; empty: they are not
  int jobs = 0;
};

/// What became of one changed artifact.
enum class Fate {
  not_run,   ///< no executor runs it
  hidden,    ///< it changes nothing that is visible
  red,       ///< caught
  unjudged,  ///< neither caught nor passed
  failed,    ///< the judge itself gave up: harness-error, invalid-case, unsupported
  passed,
};
[[nodiscard]] std::string_view fate_name(Fate fate);
/// Of one that is visible.
[[nodiscard]] Fate fate_of(std::string_view verdict, judge::Gate gate);

struct FateCounts {
  std::map<Fate, std::size_t> counts;
  [[nodiscard]] std::size_t of(Fate fate) const;
  [[nodiscard]] std::size_t tried() const;
  [[nodiscard]] std::size_t visible() const;
};

/// One that was visible and not caught, or the only one that was asked for.
struct Escape {
  std::string source;     ///< "" where none is stated
  std::string case_name;  ///< or the ready artifact's folder
  std::string options;    ///< the option set's label; "" for a folder
  std::size_t index = 0;
  std::string group, node, op, what;
  Fate fate = Fate::passed;
  std::string verdict, reason, executor;
  std::optional<double> plain_db, changed_db, predicted_db;  ///< of the output that lost most
  bool prediction_gates = false;                             ///< that output's
  std::optional<double> margin;                              ///< largest |e| ÷ bound that the verdict states
  /// The plain artifact's verdict counts the node as judged (is_covered): then this one is the judge's own error.
  bool covered = false;
  std::filesystem::path kept;  ///< its folder, where it was written
};

/// A plain artifact that is red, or one that could not be tried.
struct PlainTrouble {
  std::string source, case_name, options, reason;
};

struct ArtifactScoreReport {
  /// By source and group: the kind of defect, or the operator that was falsified.
  std::map<std::pair<std::string, std::string>, FateCounts> groups;
  /// Falsifications by source and kind ("times -1" …).
  std::map<std::pair<std::string, std::string>, FateCounts> kinds;
  std::map<std::string, std::size_t> executors;  ///< who ran the changed artifacts
  std::size_t artifacts = 0;
  std::vector<Escape> escapes;
  std::vector<PlainTrouble> false_alarms;
  std::vector<PlainTrouble> left_out;
  [[nodiscard]] FateCounts total() const;
  /// How many visible ones were not caught at a node that coverage counts as judged.
  [[nodiscard]] std::size_t overclaimed() const;
};

/// Whether a verdict counts what an artifact's node does as judged: the original's node of that name and operator where
/// there is one, else all of them and every output.
[[nodiscard]] bool is_covered(const judge::Coverage& coverage, std::string_view node, std::string_view op);

/// Deterministic. A ready artifact that can't be read is left out, with the reason.
/// Errors   usage, for nothing selected or a source without Q/DQ artifacts where defects are asked for.
[[nodiscard]] core::Result<ArtifactScoreReport> score_artifacts(const ArtifactScoreConfig& config);

/// SQNR of an output in dB against the float64 reference, of the plain artifact and of the changed one, and what was
/// predicted; nothing where there is none (no signal, no prediction). Infinite where nothing differs.
struct OutputQuality {
  std::optional<double> plain_db, changed_db, predicted_db;
  double prediction_limit_db = 0;
  bool prediction_gates = false;  ///< in the plain artifact's verdict
};
/// Whether a falsification shows: the output lies below the prediction by more than the prediction's own limit, and
/// below the plain artifact's by as much; where nothing is predicted, below the plain one's by more than 3 dB and below
/// 20 dB.
[[nodiscard]] bool shows(const OutputQuality& quality);

}  // namespace assay::mutants
