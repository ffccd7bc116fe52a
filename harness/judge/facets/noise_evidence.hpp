#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/grounds.hpp"

namespace assay::judge {

/// What the outputs on `typical` data say about who computed them.
struct NoiseEvidence {
  double ratio = 0;                ///< R = mean(e²) ÷ mean(σ²_predicted, output rounding left out)
  std::size_t distinct = 0;        ///< unlike values among the outputs
  std::int64_t input_vectors = 0;  ///< independent draws: batches along the outputs' first axis
};
/// Nothing where a noise can't be predicted.
[[nodiscard]] std::optional<NoiseEvidence> weigh_noise(const LayerContext& context, Grounds& grounds);
/// The R below which such evidence means that the outputs were computed in float: as measured (measured_limits.hpp)
/// with 1000 distinct outputs; with fewer, what so many independent draws, or unlike outputs between the steps of an
/// operator on codes, fall below with the run's false-alarm probability (docs/oracle_numerics.md).
[[nodiscard]] double float_noise_limit(const LayerContext& context, const NoiseEvidence& evidence);

}  // namespace assay::judge
