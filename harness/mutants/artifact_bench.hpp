#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/files.hpp"
#include "harness/core/result.hpp"
#include "harness/data/user_case.hpp"
#include "harness/judge/judge.hpp"
#include "harness/run/evaluate.hpp"

namespace assay::mutants {

/// A Q/DQ artifact and what `assay check FLOAT --artifact Q --calibration … --inputs …` would be given for it.
struct ReadyArtifact {
  data::UserCase user;  ///< the float model with its data
  model::Model artifact;
  std::optional<std::string> options_json;                ///< that it was made with; nothing: what it shows
  std::vector<converters::TensorScale> tensors = {};      ///< what the converter reported of it
  std::vector<converters::NodePrecision> precision = {};  ///< likewise
};

/// Who runs an artifact, and the policy that it is judged under where no other is looked for.
struct ArtifactExecutor {
  std::shared_ptr<converters::Converter> converter;
  converters::Description description;
  std::string name;
};

/// What the plain artifact gave.
struct Baseline {
  std::string executor;
  std::vector<std::string> data_sets;
  std::vector<core::TensorMap> outputs;  ///< by data set
  judge::Judgement judgement;            ///< in full
};

/// One artifact that is changed, executed and judged many times. Not for use from two threads.
class ArtifactBench {
 public:
  /// `executors` in the order of preference.
  /// `made_by`: whose policy every artifact is judged by, as in run::settle_maker(); without candidates the executors'.
  /// `kind`: what the judge sees of each artifact; to `scales`, the plain conversion's reports.
  [[nodiscard]] static core::Result<std::unique_ptr<ArtifactBench>> create(
      ReadyArtifact ready, std::vector<ArtifactExecutor> executors, run::MadeBy made_by = {},
      converters::ArtifactKind kind = converters::ArtifactKind::qdq);
  ArtifactBench(const ArtifactBench&) = delete;
  ArtifactBench& operator=(const ArtifactBench&) = delete;

  [[nodiscard]] const model::Model& artifact() const { return ready_.artifact; }
  [[nodiscard]] const model::Model& original() const { return *ready_.user.test_case.model; }
  [[nodiscard]] const data::UserData& data() const { return *ready_.user.data; }
  [[nodiscard]] const std::optional<std::string>& options_json() const { return ready_.options_json; }
  /// What the float64 reference gives for each data set.
  [[nodiscard]] const std::vector<core::TensorMap>& expected() const { return expected_; }

  /// A changed artifact after its execution, not yet judged.
  struct Executed {
    const Baseline* plain = nullptr;  ///< by the same executor
    std::vector<core::TensorMap> outputs;
    run::Trial trial;
  };
  /// By the first executor that runs both `model` and the plain artifact on every data set; nothing where none does.
  [[nodiscard]] std::optional<Executed> execute(const model::Model& model);
  /// Whether it is red, as `assay check --artifact` would say.
  [[nodiscard]] judge::Judgement judge(const Executed& executed);
  /// Removes what was written for one that is not judged.
  static void discard(const Executed& executed);
  /// Of the first executor that runs the artifact; null where none does.
  [[nodiscard]] const Baseline* plain();

 private:
  ArtifactBench(ReadyArtifact ready, std::vector<ArtifactExecutor> executors, run::MadeBy made_by,
                converters::ArtifactKind kind, core::TemporaryFolder folder);
  [[nodiscard]] const Baseline* baseline(std::size_t executor);
  [[nodiscard]] std::optional<run::Trial> attempt(const model::Model& model, std::size_t executor);
  [[nodiscard]] judge::Judgement judged(run::Trial trial, judge::Depth depth) const;

  ReadyArtifact ready_;
  std::vector<ArtifactExecutor> executors_;
  run::MadeBy made_by_;
  converters::ArtifactKind kind_;
  core::TemporaryFolder folder_;
  std::unique_ptr<run::CaseBench> bench_;
  std::vector<core::TensorMap> expected_;
  std::map<std::size_t, std::optional<Baseline>> baselines_;
  std::size_t counter_ = 0;
};

/// `plain` as the executor of the artifacts that it can't or doesn't run itself: the reference, under its policy.
[[nodiscard]] core::Result<ArtifactExecutor> reference_in_place_of(const converters::Description& description);

/// What the case's conversion gave, as somebody has it who knows its float model, options and data. Nothing where it is
/// no Q/DQ artifact: the case is outside what the converter declares, was refused, or failed.
[[nodiscard]] core::Result<std::optional<ReadyArtifact>> ready_artifact(run::CaseBench& bench,
                                                                        const corpus::Case& test_case,
                                                                        const run::Trial& trial);

/// float.onnx, q.onnx and the data of `folder`: calibration.npz or calibration/, inputs.npz or inputs/; options.json
/// where somebody stated the options.
/// Errors   as model::load_model and load_user_data; io where something is missing.
[[nodiscard]] core::Result<ReadyArtifact> load_ready_artifact(const std::filesystem::path& folder);
/// Writes a changed artifact in that form.
[[nodiscard]] core::Status keep_artifact(const ArtifactBench& bench, const model::Model& changed,
                                         const std::filesystem::path& folder);

}  // namespace assay::mutants
