#pragma once

#include <vector>

#include "harness/judge/alignment/effective_linear.hpp"
#include "harness/judge/audit/product_errors.hpp"

namespace assay::judge {

/// The bias of one quantized linear operator against the effective one.
///
/// Formula  |q_b·s_b − b_j| ≤ s_b/2 + 2⁻²²|b_j| with s_b = s_x·s_w,j; what folding in float32 may add is allowed too.
///          A bias kept in float is compared directly; a corrected one (stated policy) is judged by
///          what it is for: the channel's mean error on the calibration data, `errors`, is at most what it would be
///          with the model's own bias plus a share of the product's noise; a mean_corrected one is the original's or
///          with mean_correction() added.
[[nodiscard]] std::vector<Finding> audit_bias(const LayerContext& context, const ArtifactNode& node,
                                              const EffectiveLinear& linear, const ProductErrors& errors);

}  // namespace assay::judge
