#pragma once

#include <optional>
#include <string>

#include "harness/core/result.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/judge/judge.hpp"
#include "harness/metamorphic/metamorphic.hpp"

namespace assay::run {

/// What one conversion and its executions gave, before it is judged.
struct Trial {
  judge::Evidence evidence;
  std::optional<converters::ArtifactKind> artifact_kind;  ///< nothing when nothing was converted
  /// Of a ready artifact: whose policy it is judged by; of a conversion: what was changed before it (kChangedBefore).
  std::string judged_as;
  metamorphic::RelationReport relations;    ///< metamorphic, where the case asks for them and they were checked
  bool related = false;                     ///< they were checked, if there are any
  std::optional<judge::Judgement> settled;  ///< nothing is to be judged: our own fault, or `unsupported`
  bool repeated = false;                    ///< the conversion was that of the trial it was compared with: not executed
};

/// True where both conversions ended alike: reply, artifact and files are the same bytes.
[[nodiscard]] bool same_conversion(const judge::Evidence& a, const judge::Evidence& b);

/// The same for the outputs of all executions.
[[nodiscard]] bool same_outputs(const judge::Evidence& a, const judge::Evidence& b);
[[nodiscard]] bool same_trial(const Trial& a, const Trial& b);
/// What somebody sees of `trial` to whom the artifact is of `kind`, scales or opaque.
[[nodiscard]] Trial seen_as(const Trial& trial, converters::ArtifactKind kind);

/// `unsupported`, with its reason.
[[nodiscard]] judge::Judgement not_supported(std::string reason);

using judge::own_fault;

}  // namespace assay::run
