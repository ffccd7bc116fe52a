#pragma once

#include <optional>

#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// The margin of a verdict: the one that is recorded, shown, compared by drift and by expected failures. It is the
/// largest error of the values, of the outputs and of each node that was looked into, divided by its limit. Where
/// something is red and all values are within their limits, it is the difference that the first red finding tells,
/// divided by what is allowed; nothing where none tells one. So of a red finding it is never 1 or less.
[[nodiscard]] std::optional<double> verdict_margin(const Judgement& judgement);

}  // namespace assay::judge
