#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/evidence/code_tensors.hpp"
#include "harness/judge/quantization/grounds.hpp"

namespace assay::judge {

/// L2: bounds against the float64 reference, end to end on the outputs, and per node where traces exist. Findings
/// carry layer "L2"; sets `out.margin`, adds metrics and "L2" to `out.layers` where it applied.
[[nodiscard]] std::vector<Finding> check_bounds(const LayerContext& context, Grounds& grounds,
                                                const PreparedArtifact* prepared, const CertainCodes& certain_codes,
                                                Judgement& out);

}  // namespace assay::judge
