#pragma once

#include <memory>

#include "harness/judge/evidence/evidence.hpp"

namespace assay::judge {

/// A converter may multiply the output channels of one layer and divide the next one's weights by the same
/// (cross-layer equalization: Nagel et al., "Data-Free Quantization through Weight Equalization and Bias Correction",
/// 2019), where what stands between multiplies its result too: Relu, LeakyRelu, pooling, copies. No constant of the
/// artifact tells the factors, and each converter finds them in its own way. They follow from the first layer: from
/// every quantized weight and bias of a channel comes an interval of factors that give it, and nearly all of them meet.
/// Whether the next layer is divided by the same, the audit finds as for any other weights.
///
/// Returns  null where the converter doesn't state `equalizes`, or no layer of the artifact is multiplied.
[[nodiscard]] std::shared_ptr<const OriginalForm> rescaled(const Evidence& evidence);

}  // namespace assay::judge
