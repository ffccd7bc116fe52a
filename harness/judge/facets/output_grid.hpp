#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// Where the policy says that graph outputs are quantized and no artifact shows it: one `precision` finding for each
/// output whose values can't be those of a quantizer, because they lie off the grid of the scale that is reported, or,
/// where none is reported, because they are more than the activation's type has. Where it leaves that open and the
/// converter reports scales: one `scale` finding for each output whose values show that they were quantized with
/// another step than the reported one.
[[nodiscard]] std::vector<Finding> check_output_grid(const LayerContext& context);

}  // namespace assay::judge
