#pragma once

#include <optional>

#include "results/store.hpp"

namespace assay::results {

/// The margin of a verdict as everybody is shown it: the largest error of the values, of the outputs and of each node
/// that was looked into, divided by its limit. Where something is red and all values are within their limits, it is the
/// difference that the first red finding tells, divided by what is allowed; nothing where none tells one. So of a red
/// verdict it is never 1 or less.
[[nodiscard]] std::optional<double> shown_margin(const ResultRow& row);

}  // namespace assay::results
