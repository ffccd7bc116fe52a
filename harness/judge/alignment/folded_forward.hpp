#pragma once

#include <memory>

#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// A BatchNormalization in front of a Conv without pads, or of a Gemm, may be folded into its weight's input channels
/// and its bias. `original` with such a layer in the BatchNormalization's place, where the weight of `artifact` is
/// multiplied by it. Behind pads there is no such layer: what is padded with isn't normalized.
///
/// Returns  null where no BatchNormalization went that way.
[[nodiscard]] std::shared_ptr<const OriginalForm> folded_forward(const model::Model& original,
                                                                 const std::shared_ptr<const model::Model>& artifact);

}  // namespace assay::judge
