#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/quantization_plan.hpp"

namespace assay::judge {

/// Bias and variance of the outputs' errors, per tensor and per channel, on `typical` data of single operators
/// (docs/oracle_numerics.md, "Bias and variance"). Findings: facet numerics, layer L2. Adds the metrics bias_margin and
/// variance_margin, the largest |statistic| ÷ limit.
[[nodiscard]] std::vector<Finding> check_moments(const LayerContext& context, const QuantizationPlan& plan,
                                                 Judgement& out);

}  // namespace assay::judge
