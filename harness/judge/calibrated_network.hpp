#pragma once

#include "harness/judge/artifact_view.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// What the policy `calibrates` "quantized_weights" runs the calibration data through: the original with the constants
/// that the artifact holds as codes on these codes, as (code − zero_point)·scale in float32, BatchNormalization folded
/// where the artifact has it folded. Biases of Conv, ConvTranspose and Gemm stay real: their codes hang on the ranges.
///
/// A constant whose codes have another shape than it, or another transB, keeps its own values.
[[nodiscard]] model::Model calibrated_network(const model::Model& original, const ArtifactView& artifact);

}  // namespace assay::judge
