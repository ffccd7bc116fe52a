#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/files.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/corpus/case.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/run/metamorphic.hpp"

namespace assay::run {

/// One verdict with what the converter said.
struct Evaluation {
  judge::Judgement judgement;
  converters::ConvertReply conversion;  ///< of the judged step
  std::string artifact_kind;            ///< "qdq", "scales", "opaque"; "" when nothing was converted
  double seconds = 0;
};

/// One case on disk, ready to be converted under several option sets by several converters: its model file,
/// calibration folders and reference results are made once and shared. Not for use from two threads.
class CaseBench {
 public:
  /// Writes the model below a temporary folder. `data`, when given, replaces the case's generated data (assay check).
  struct UserData {
    std::vector<core::TensorMap> calibration;
    std::vector<core::TensorMap> inputs;
    bool calibrated = false;  ///< `calibration` was given as such, and does not merely stand in
  };
  [[nodiscard]] static core::Result<std::unique_ptr<CaseBench>> create(const corpus::Case& test_case,
                                                                       std::optional<UserData> data = std::nullopt);

  /// Runs the case's steps through `converter` and judges the last one. `options_json` is the suite's option set; the
  /// case's own options win. Never fails: what goes wrong is the verdict.
  [[nodiscard]] Evaluation evaluate(converters::Converter& converter, const converters::Description& description,
                                    const std::string& options_json, double judged_elements);

  /// Judges a ready artifact against the model, with no conversion; `executor` runs it. Where nobody stated the options
  /// that it was made with, those are taken that it shows.
  [[nodiscard]] Evaluation evaluate_artifact(converters::Converter& executor,
                                             const converters::Description& description,
                                             const std::filesystem::path& artifact,
                                             const std::optional<std::string>& options_json, double judged_elements);

 private:
  struct Feed {
    std::filesystem::path folder;
    std::vector<core::TensorMap> batches;
  };

  CaseBench(const corpus::Case& test_case, core::TemporaryFolder folder, std::optional<UserData> data);
  [[nodiscard]] core::Result<const Feed*> feed(const corpus::FeedSpec& spec);
  [[nodiscard]] core::Result<std::filesystem::path> fresh_folder(const std::string& stem);
  [[nodiscard]] core::Result<std::string> stale_cache(converters::Converter& converter,
                                                      const converters::Options& options, const corpus::Step& step);
  void execute_and_judge(converters::Converter& converter, judge::Evidence& evidence, double judged_elements,
                         Evaluation& out);
  [[nodiscard]] core::Result<RelationReport> check_relations_of(converters::Converter& converter,
                                                                const judge::Evidence& evidence);
  [[nodiscard]] core::Status execute_data_sets(converters::Converter& converter, judge::Evidence& evidence);

  const corpus::Case& case_;
  core::TemporaryFolder folder_;
  std::optional<UserData> data_;
  std::filesystem::path model_file_;
  std::map<std::string, std::unique_ptr<Feed>> feeds_;
  std::shared_ptr<judge::ReferenceCache> references_;
  int counter_ = 0;
};

}  // namespace assay::run
