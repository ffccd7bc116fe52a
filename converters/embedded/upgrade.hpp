#pragma once

#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded {

/// The oldest opset whose DequantizeLinear has an axis.
inline constexpr std::int64_t kPerAxisOpset = 13;
/// The oldest whose DequantizeLinear has blocks and codes of 4 bits.
inline constexpr std::int64_t kBlockOpset = 21;

/// Rewrites a model of opset 7 and later for `target`, 13 or one of 21 to 25: attributes that became inputs, Softmax's
/// axis, Upsample and Resize-10. Newer models stay as they are. Errors   unsupported, naming the node whose old form
/// has no equal in the newer opset.
[[nodiscard]] core::Status upgrade_opset(model::Model& model, std::int64_t target = kPerAxisOpset);

}  // namespace assay::embedded
