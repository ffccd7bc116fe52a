#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"

namespace assay::judge {

/// Sums of products that leave 32 bits. A node whose worst case over all codes does is recorded (metric
/// "accumulator_worst", in units of 2³¹); an overflow with the case's own data is a finding of layer "L0". Only nodes
/// that the converter doesn't report in float, and not under the policy `arithmetic: float`.
[[nodiscard]] std::vector<Finding> check_overflow(const LayerContext& context, const PreparedArtifact* prepared,
                                                  Judgement& out);

}  // namespace assay::judge
