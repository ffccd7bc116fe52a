#pragma once

#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/audit/audited_params.hpp"

namespace assay::judge {

/// Nearest codes of `values`, as real values; null where the parameters don't fit the shape.
[[nodiscard]] core::TensorPtr nearest(const core::TensorPtr& values, const core::QuantParams& params);

/// `values` with each element brought within its interval.
[[nodiscard]] core::TensorPtr brought_within(const core::Tensor& values, const std::vector<Interval>& limits);

/// `codes` with the artifact's own where both are as near: a scale in float32 leaves open to which side a tie falls.
[[nodiscard]] core::TensorPtr with_ties_of(const core::TensorPtr& own, const core::TensorPtr& weight,
                                           const core::QuantParams& params, const core::TensorPtr& codes);

/// A bias on its int32 codes of scale s_x·s_w, which the output channels share in turn; one value that serves every
/// channel has a code for each.
[[nodiscard]] core::TensorPtr nearest_bias(const core::Tensor& bias, double input_scale,
                                           const std::vector<double>& weight_scales);

}  // namespace assay::judge
