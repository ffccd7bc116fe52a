#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/bound_walk.hpp"

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

/// What the outputs on `typical` data say about who computed them.
struct NoiseEvidence {
  double ratio = 0;                ///< R = mean(e²) ÷ mean(σ²_predicted, output rounding left out)
  std::size_t distinct = 0;        ///< unlike values among the outputs
  std::int64_t input_vectors = 0;  ///< independent draws: batches along the outputs' first axis
};
/// Nothing where a noise can't be predicted.
[[nodiscard]] std::optional<NoiseEvidence> weigh_noise(const LayerContext& context, Grounds& grounds);
/// The R below which such evidence means that the outputs were computed in float: as measured (measured_limits.hpp)
/// with 1000 distinct outputs; with fewer, what so many independent draws fall below with the run's false-alarm
/// probability (docs/oracle_numerics.md).
[[nodiscard]] double float_noise_limit(const LayerContext& context, const NoiseEvidence& evidence);

/// R = mean(e²) ÷ mean(σ²_predicted, output rounding left out) on `typical` data: far below 1 means that the outputs
/// carry no quantization noise, so ran in float. Nothing where it can't be computed or the data don't suffice.
[[nodiscard]] std::optional<double> noise_ratio(const LayerContext& context, Grounds& grounds);

}  // namespace assay::judge
