#pragma once

#include <optional>
#include <string>

#include "harness/core/result.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/run/metamorphic.hpp"

namespace assay::run {

/// What one conversion and its executions gave, before it is judged.
struct Trial {
  judge::Evidence evidence;
  std::string artifact_kind;
  RelationReport relations;                 ///< metamorphic, where the case asks for them and they were checked
  bool related = false;                     ///< they were checked, if there are any
  std::optional<judge::Judgement> settled;  ///< nothing is to be judged: our own fault, or `unsupported`
  bool repeated = false;                    ///< the conversion was that of the trial it was compared with: not executed
};

/// True where both conversions ended alike: reply, artifact and files are the same bytes.
[[nodiscard]] bool same_conversion(const judge::Evidence& a, const judge::Evidence& b);

/// The same for the outputs of all executions.
[[nodiscard]] bool same_outputs(const judge::Evidence& a, const judge::Evidence& b);
[[nodiscard]] bool same_trial(const Trial& a, const Trial& b);
/// What somebody sees of `trial` to whom the artifact is of `kind`, "scales" or "opaque".
[[nodiscard]] Trial seen_as(const Trial& trial, const std::string& kind);

/// A verdict that is Assay's or the case's own fault.
[[nodiscard]] judge::Judgement own_fault(const core::Error& error);

}  // namespace assay::run
