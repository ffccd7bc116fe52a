#pragma once

#include <string>
#include <vector>

#include "harness/judge/judge.hpp"
#include "harness/judge/reference_cache.hpp"
#include "harness/programs/stated_policies.hpp"

namespace assay::run {

/// Whose policy a ready artifact is to be judged by.
struct MadeBy {
  std::vector<programs::StatedPolicy> candidates;
  bool stated = false;  ///< the user says that one of these it is; else it may be none, and what any states is granted
};

/// `converter`, NAME[@VERSION], or where that is empty whoever it may be. Errors   as programs::stated_policies_of().
[[nodiscard]] core::Result<MadeBy> made_by(const std::string& converter);

/// Gives `evidence`, whose artifact has been read, the policy and the options that its artifact is to be judged by, and
/// what is granted. A policy explains an artifact where L0 finds nothing wrong under it; of several the narrowest does.
/// Without calibration data ranges tell nothing of it. Options that the user stated (Evidence::stated_options) hold: a
/// policy that is about others isn't tried.
///
/// Where none explains the artifact, the one with the fewest findings is judged by. Unless the user named a converter,
/// kinds of parameters that differ nearly everywhere, and that another stated policy agrees with, are then granted:
/// another converter's choice shows in all tensors, a defect in some.
///
/// Returns  the words for the verdict's line: whose policy it is, and whether it explains the artifact.
[[nodiscard]] std::string settle_maker(judge::Evidence& evidence, judge::ReferenceCache& cache, const MadeBy& made_by);

}  // namespace assay::run
