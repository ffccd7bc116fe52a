#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// A linear operator of the artifact, with a weight in quantized values or in float, as it should be: the original's
/// weight and bias in float64, with what the converter folded into them (BatchNormalization, a constant Mul or Add,
/// Gemm's alpha and beta).
struct EffectiveLinear {
  std::size_t operand = 1;                 ///< which input of the artifact's node the weight is
  core::Tensor weight;                     ///< in the layout of the artifact's operand
  std::vector<double> bias;                ///< one for each output channel; all 0 where there is none
  std::vector<double> bias_slack;          ///< float32 error of the folding, by channel
  bool folded = false;                     ///< something was multiplied into the weight
  double unit = 0;                         ///< unit roundoff of the original weight's 16-bit floats; 0: it has others
  std::int64_t axis = 0;                   ///< the weight's axis that scales belong to
  std::int64_t channels = 1;               ///< output channels (extent of `axis` times groups for ConvTranspose)
  std::optional<core::QuantParams> given;  ///< the original quantizes this weight itself
  /// Relative error of so many roundings in the type of the original's constants, which a converter may fold in.
  [[nodiscard]] double fold_error(double roundings) const;
  /// Which scale serves output channel `channel`: ConvTranspose's groups share theirs.
  [[nodiscard]] std::size_t scale_of(std::size_t channel) const {
    return channel % static_cast<std::size_t>(weight.shape()[static_cast<std::size_t>(axis)]);
  }
};

/// Nothing where the node isn't linear with a constant weight, or the converter did to it what isn't modelled here.
[[nodiscard]] std::optional<EffectiveLinear> effective_linear(const LayerContext& context, const ArtifactNode& node);

}  // namespace assay::judge
