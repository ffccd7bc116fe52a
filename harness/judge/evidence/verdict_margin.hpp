#pragma once

#include <optional>

#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// The margin of a verdict: the one that is recorded, shown, compared by drift and by expected failures. It is the
/// largest error of an output, divided by its limit (metric `output_margin` says on which data set); what was looked
/// into besides, as each node in `check`, changes nothing of it. Where something is red and all outputs are within
/// their limits, it is the difference that the first red finding tells, divided by what is allowed; nothing where none
/// tells one. So of a red finding it is never 1 or less.
[[nodiscard]] std::optional<double> verdict_margin(const Judgement& judgement);

}  // namespace assay::judge
