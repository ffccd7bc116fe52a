#pragma once

#include <memory>

#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// A BatchNormalization behind a Concat of layers with weights, along the channels, may be folded into each of them.
/// `original` with the BatchNormalization of its own channels behind each layer, in front of the Concat, where the
/// layers of `artifact` are multiplied by it: what folds there is found as behind any layer.
///
/// Returns  null where no BatchNormalization went that way.
[[nodiscard]] std::shared_ptr<const OriginalForm> distributed(const model::Model& original,
                                                              const std::shared_ptr<const model::Model>& artifact);

}  // namespace assay::judge
