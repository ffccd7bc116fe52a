#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/quantization/bound_walk.hpp"

namespace assay::judge {

/// Variance of each tensor's quantization error, output rounding left out, and the reference values beside it.
struct NoisePrediction {
  std::map<std::string, std::vector<double>, std::less<>> variance;
};

/// Which of the legal steps of a tensor whose parameters nobody tells: the finest for the least noise that must be
/// there, the coarsest for the most that may.
enum class Steps { finest, coarsest };

/// Predicts the noise that rounding to the nearest code puts into the tensors of the original: every rounding is an
/// independent uniform draw of variance s²/12, sums add variances, functions gain them by their slope.
///
/// Underestimates on purpose: only the operands of Conv, ConvTranspose, Gemm and MatMul are taken as quantized, and
/// exact zeros as exact. Nothing where an operator has no rule.
[[nodiscard]] std::optional<NoisePrediction> predict_noise(const QuantizationPlan& plan, const core::TensorMap& inputs,
                                                           Steps steps);

}  // namespace assay::judge
