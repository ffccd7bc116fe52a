#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded {

/// Where the output channels lie in a weight. Channels are numbered as in the output.
///
/// Conv            [M, C/g, …]    axis 0
/// ConvTranspose   [C, M/g, …]    axis 1: scale j serves channel j of every group
/// Gemm            B              axis 0 with transB, else 1
/// MatMul          B              the last axis (rank 1: none)
struct WeightLayout {
  std::int64_t axis = 0;            ///< of the scales
  std::size_t channels = 0;         ///< output channels
  std::size_t scales = 0;           ///< extent of the weight along `axis`
  std::size_t inner = 1;            ///< elements after `axis`
  std::size_t outer_per_group = 0;  ///< ConvTranspose: input channels of a group
  bool groups_share = false;        ///< channels of several groups share a scale

  /// Scale that serves element `index` of the weight.
  [[nodiscard]] std::size_t scale_of(std::size_t index) const { return index / inner % scales; }
  /// Output channel of element `index`.
  [[nodiscard]] std::size_t channel(std::size_t index) const {
    if (!groups_share) return scale_of(index);
    return index / (inner * scales) / outer_per_group * scales + scale_of(index);
  }
  /// Scale that serves output channel `channel`.
  [[nodiscard]] std::size_t scale_of_channel(std::size_t channel) const { return channel % scales; }
};

/// Conv, ConvTranspose, Gemm: operators whose second input may be a weight and third a bias.
[[nodiscard]] bool has_weight(const model::Node& node);
/// Nothing where the shape does not fit the operator.
[[nodiscard]] std::optional<WeightLayout> weight_layout(const model::Node& node, const core::Shape& shape);
/// One value per channel, or one for all.
[[nodiscard]] bool is_channel_bias(const core::Tensor& bias, std::size_t channels);

}  // namespace assay::embedded
