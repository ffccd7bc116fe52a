#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audited_params.hpp"
#include "harness/judge/evidence/evidence.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Where BatchNormalization takes its variance.
inline constexpr std::size_t kVariance = 4;

struct NormalizationLimits {
  std::vector<Interval> elements;
  /// Of a variance: how many times the deviation that gains of 8 bits would have, over all channels.
  double noise = 0;
};

/// Between which values the elements of `operand`, input `input` of a normalization, have to stay. No sum fixes the
/// step of such a constant, so that a converter keeps 8 bits over its own range at the least. A variance is nothing by
/// itself, but gives the gain γ/√(σ² + ε): where its codes make more noise than gains of 8 bits would, its limits are
/// those that such gains have. `node` and `constants` are the float model's. Nothing where it isn't a quantized
/// constant, or nothing limits it.
[[nodiscard]] std::optional<NormalizationLimits> normalization_limits(const model::Node& node, std::size_t input,
                                                                      const Constants& constants,
                                                                      const Operand& operand, const Evidence& evidence);

}  // namespace assay::judge
