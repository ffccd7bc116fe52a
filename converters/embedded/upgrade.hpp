#pragma once

#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded {

/// The oldest opset whose DequantizeLinear has an axis.
inline constexpr std::int64_t kPerAxisOpset = 13;

/// Rewrites a model of opset 7–12 for opset 13: attributes that became inputs, Softmax's axis, Upsample and Resize-10.
/// Newer models stay as they are.
/// Errors   unsupported, naming the node whose old form has no equal in opset 13.
[[nodiscard]] core::Status upgrade_opset(model::Model& model);

}  // namespace assay::embedded
