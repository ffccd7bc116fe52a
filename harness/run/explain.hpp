#pragma once

#include <optional>
#include <string>

#include "harness/judge/judge.hpp"
#include "harness/run/runner.hpp"

namespace assay::run {

/// One verdict with everything that it comes from.
struct ExplainedVerdict {
  std::string case_name, options, converter, version;
  std::optional<converters::ArtifactKind> artifact_kind;  ///< nothing when nothing was converted
  judge::Judgement judgement;
  judge::Explanation explanation;
  std::string judged_as = {};  ///< as in results::ResultRow
};

/// Converts, executes and judges `item` under one of its option sets as run() does, and records nothing.
/// Errors   what keeps the converter from being asked: it isn't installed, can't be described; the case has no model.
[[nodiscard]] core::Result<ExplainedVerdict> explain(const RunItem& item, const corpus::OptionSet& options,
                                                     const programs::ConverterSpec& converter, double timeout_s);

/// The verdict of the first option set that is red, else of the first.
/// Errors   as explain(); usage, where the item has no option set.
[[nodiscard]] core::Result<ExplainedVerdict> explain_first_red(const RunItem& item,
                                                               const programs::ConverterSpec& converter,
                                                               double timeout_s);

/// The ready artifact in `artifact` against the float model of `item`, whose option set states what it was made with,
/// as run() judges it.
/// Errors   what keeps it from being judged at all.
[[nodiscard]] core::Result<ExplainedVerdict> explain_artifact(const RunItem& item,
                                                              const std::filesystem::path& artifact,
                                                              const MadeBy& made_by);

}  // namespace assay::run
