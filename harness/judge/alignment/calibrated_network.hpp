#pragma once

#include "converters/policy.hpp"
#include "harness/judge/alignment/alignment.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// What the policies `calibrates` "quantized_weights" and "quantized_constants" run the calibration data through: the
/// alignment's original with weights (input 1 of Conv, ConvTranspose, Gemm, MatMul and of normalizations) as
/// float32((code − zero_point)·scale) of the artifact's codes, under the second other constants on the codes that
/// `policy` gives their own range, BatchNormalization folded where the artifact has it folded. Biases of Conv,
/// ConvTranspose and Gemm stay real: their codes hang on the ranges. A ConvTranspose may have come out as a Conv.
///
/// A constant whose codes have another shape than it, or another transB, keeps its own values.
[[nodiscard]] model::Model calibrated_network(const Alignment& alignment, const converters::Policy& policy);

}  // namespace assay::judge
