#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// Where the policy says that graph outputs are quantized and no artifact shows it: one `precision` finding for each
/// output whose values can't be those of a quantizer, because they lie off the grid of the scale that is reported, or,
/// where none is reported, because they are more than the activation's type has.
[[nodiscard]] std::vector<Finding> check_output_grid(const LayerContext& context);

}  // namespace assay::judge
