#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/windows.hpp"

namespace assay::reference {

/// A checked Conv or ConvTranspose: channel counts are those of one group.
struct Convolution {
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  Windows windows;

  /// Output channels of all groups, and the output's shape.
  [[nodiscard]] std::int64_t all_out_channels() const { return groups * out_channels; }
  [[nodiscard]] Shape output_shape() const { return windows.output_shape(batch, all_out_channels()); }
};

/// The shape of the output for an input and weights of which some extents are not known, or no rank is.
/// Errors   those of sliding_convolution and transposed_convolution, which check by the same rules.
[[nodiscard]] Result<std::optional<Dims>> sliding_output(const ShapeCall& call, std::size_t x, std::size_t w);
[[nodiscard]] Result<std::optional<Dims>> transposed_output(const ShapeCall& call);
/// Inputs X, W and B (where it is there) of one real type, B with one value for each channel of `shape`.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_real_convolution(const ShapeCall& call,
                                                                      const Result<std::optional<Dims>>& shape);

/// The convolution that `node` describes for an input and weights of these shapes (Conv: [M, C/group, k…]).
/// Errors   invalid_model, naming both shapes, where they don't fit the group count or each other.
[[nodiscard]] Result<Convolution> sliding_convolution(const Node& node, const Shape& x, const Shape& w);
/// ... for ConvTranspose: weights are [C, M/group, k…].
[[nodiscard]] Result<Convolution> transposed_convolution(const Node& node, const Shape& x, const Shape& w,
                                                         std::int64_t opset);

/// y[n, m, o] = Σ x[n, c, o * stride - pad + k * dilation] · w[m, c, k], padding counting as zero; no bias.
/// Integers take their zero points off before. Sums run over channels, then taps, in order.
[[nodiscard]] std::vector<double> convolve_plain(const Convolution& conv, std::span<const double> x,
                                                 std::span<const double> w);
[[nodiscard]] std::vector<std::int64_t> convolve_plain(const Convolution& conv, std::span<const std::int64_t> x,
                                                       std::span<const std::int64_t> w);

/// The same by im2col and the blocked matrix product, in tiles of output positions.
[[nodiscard]] std::vector<double> convolve_blocked(const Convolution& conv, std::span<const double> x,
                                                   std::span<const double> w);
/// Whichever of the two is faster.
[[nodiscard]] std::vector<double> convolve(const Convolution& conv, std::span<const double> x,
                                           std::span<const double> w);

/// y[n, m, i * stride - pad + k * dilation] += x[n, c, i] · w[c, m, k]; no bias. One matrix product gives what every
/// tap sends from every input position; taps are added up in order, each a sum over channels.
[[nodiscard]] std::vector<double> convolve_transposed(const Convolution& conv, std::span<const double> x,
                                                      std::span<const double> w);

/// The whole of Conv and ConvTranspose but for what sets them apart: inputs X, W and B (where it is there) of one real
/// type, `conv` as their shapes describe it, and the sum of products without bias.
[[nodiscard]] Result<std::vector<Tensor>> run_real_convolution(
    const OpCall& call, const Result<Convolution>& conv,
    std::vector<double> (*products)(const Convolution&, std::span<const double>, std::span<const double>));

/// Input `index`, where it is there, holds one bias for each output channel.
[[nodiscard]] core::Status check_channel_bias(const OpCall& call, std::size_t index, const Convolution& conv);

/// Adds bias[m] to every element of channel m.
template <typename T>
void add_channel_bias(const Convolution& conv, std::span<const T> bias, std::span<T> y) {
  const std::int64_t plane = volume(conv.windows.output);
  std::size_t position = 0;
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (const T value : bias) {
      for (std::int64_t i = 0; i < plane; ++i) {
        y[position++] += value;
      }
    }
  }
}

}  // namespace assay::reference
