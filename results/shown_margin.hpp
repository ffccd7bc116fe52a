#pragma once

#include <optional>

#include "results/store.hpp"

namespace assay::results {

/// The margin of a verdict as everybody is shown it: of one that has red findings the largest of theirs, nothing where
/// none of them is measured against a limit; of any other the largest error of its outputs divided by its limit.
[[nodiscard]] std::optional<double> shown_margin(const ResultRow& row);

}  // namespace assay::results
