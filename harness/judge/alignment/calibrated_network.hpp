#pragma once

#include "converters/policy.hpp"
#include "harness/judge/alignment/alignment.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Which of the original's constants stand on their codes already where ranges are measured.
enum class OnCodes {
  weights,    ///< input 1 of Conv, ConvTranspose, Gemm, MatMul and of normalizations
  constants,  ///< every one that the artifact holds as codes
};

/// What the policies `calibrates` "quantized_weights" and "quantized_constants" run the calibration data through: the
/// alignment's original with these weights as float32((code − zero_point)·scale) of the artifact's codes, other
/// constants on the codes that `policy` gives their own range, BatchNormalization folded where the artifact has it
/// folded. Biases of Conv, ConvTranspose and Gemm stay real: their codes hang on the ranges. A ConvTranspose may have
/// come out as a Conv.
///
/// A constant whose codes have another shape than it, or another transB, keeps its own values.
[[nodiscard]] model::Model calibrated_network(const Alignment& alignment, OnCodes which,
                                              const converters::Policy& policy);

}  // namespace assay::judge
