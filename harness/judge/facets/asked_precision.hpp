#pragma once

#include "harness/judge/facets/facets.hpp"

namespace assay::judge {

/// Nodes are asked for in float, and no artifact shows who ran how.
[[nodiscard]] bool outputs_tell_precision(const LayerContext& context);

/// There, what each node's own quantization does to the outputs is predicted with it and without, and the outputs show
/// which of both was done (docs/oracle_numerics.md, "Asked for in float"). Adds findings of facet precision, layer L2.
void check_asked_precision(const LayerContext& context, Grounds& grounds, PrecisionFindings& precision);

}  // namespace assay::judge
