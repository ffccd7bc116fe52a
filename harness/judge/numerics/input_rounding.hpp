#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/grounds.hpp"

namespace assay::judge {

/// L1 without an artifact: of one operator that takes each element for itself, whether some rule of rounding the graph
/// input gives elements of one code one output (docs/oracle_numerics.md, "Ties from outputs alone"). Only under the
/// policy `arithmetic: integer`.
[[nodiscard]] std::vector<Finding> check_input_rounding(const LayerContext& context, Grounds& grounds);

}  // namespace assay::judge
