#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// Where no artifact is to be seen, what the converter reports of weights: type, axis, count, scales and zero points of
/// each initializer (or constant of the graph) that an operator with weights multiplies with, against that weight with
/// what may have been folded into it.
[[nodiscard]] std::vector<Finding> audit_reported_weights(const LayerContext& context);

}  // namespace assay::judge
