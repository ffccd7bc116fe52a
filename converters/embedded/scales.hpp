#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/embedded/state.hpp"

namespace assay::embedded {

[[nodiscard]] inline double to_float32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// Parameters that cover `range` and zero.
///
/// Formula  lo' = min(lo, 0), hi' = max(hi, 0). Asymmetric: scale = (hi' - lo') / (qmax - qmin), zero_point =
///          clamp(round_half_even(qmin - lo' / scale)). Symmetric: scale = max(-lo', hi') / h, zero_point 0 for signed
///          codes and h + 1 for unsigned ones, where h = 2^(bits-1) - 1; of a float8 type h is the largest number, and
///          its codes are always symmetric.
/// Edges    a range without extent (or below float32's least normal) gets scale 1, so that zero stays exact.
[[nodiscard]] QuantParams activation_params(const Range& range, DType type, bool symmetric);

/// Codes that products of integers take: of at most 8 bits.
[[nodiscard]] inline bool in_bytes(DType type) { return !core::is_real(type) && core::element_size_bits(type) <= 8; }

/// The code of zero in symmetric codes: 0, or the first of the upper half of unsigned ones.
[[nodiscard]] std::int64_t centre_of(DType type);

/// Largest |code - zero_point| of the type: how far a product can reach.
[[nodiscard]] double largest_code_distance(const QuantParams& params);

/// Largest magnitude per index along `axis` (of the whole tensor without one).
[[nodiscard]] std::vector<double> magnitudes_along(const Tensor& tensor, std::optional<std::int64_t> axis);

/// Which scale serves an element: that of its index along the axis, or of its block there; else the only one.
class ScaleIndex {
 public:
  ScaleIndex(const core::Shape& shape, std::optional<std::int64_t> axis, std::int64_t block);
  /// Of element `index` in row-major order.
  [[nodiscard]] std::size_t of(std::size_t index) const {
    if (per_axis_) return index / inner_ % extent_ / block_ * inner_of_scales_ + along_outer(index);
    return 0;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// The shape of the tensor that holds the scales.
  [[nodiscard]] const core::Shape& shape() const { return shape_; }

 private:
  /// With blocks the other indices have scales of their own, too.
  [[nodiscard]] std::size_t along_outer(std::size_t index) const {
    return in_blocks_ ? index % inner_ + index / (inner_ * extent_) * blocks_ * inner_ : 0;
  }

  bool per_axis_ = false, in_blocks_ = false;
  std::size_t inner_ = 1, extent_ = 1, block_ = 1, blocks_ = 1, inner_of_scales_ = 1, count_ = 1;
  core::Shape shape_;
};

/// Parameters of a weight that alone is quantized: activation_params of each channel or block, with scales of
/// `scale_type`.
///
/// Formula  float8e4m3fn: step = largest scale / 448, each scale = step times the nearest code that isn't 0.
///          float8e8m0: 2^(floor(log2 max|w|) - e), where 2^e is the highest power of two among the codes, as OCP's
///          "Microscaling Formats" (1.0, 6.3) has it: the largest weights may lie beyond the last code.
[[nodiscard]] QuantParams stored_weight_params(const Tensor& weight, std::optional<std::int64_t> axis,
                                               std::int64_t block, DType type, bool symmetric,
                                               DType scale_type = DType::float32);

/// Code of `value`: saturate(round_half_even(value / scale) + zero_point).
[[nodiscard]] std::int64_t code_of(double value, double scale, std::int64_t zero_point, DType type);

/// The code of `type` next to `steps` towards zero.
[[nodiscard]] double code_towards_zero(double steps, DType type);
/// The codes `numbers`, of the type and shape of `like`.
[[nodiscard]] Tensor coded(std::vector<double> numbers, const Tensor& like);

/// Constant parameters of a Quantize- or DequantizeLinear node; nothing where they are computed.
[[nodiscard]] std::optional<QuantParams> declared_params(const model::Graph& graph, const model::Node& node);

/// Codes of a whole tensor with parameters of the tensor, an axis or blocks.
[[nodiscard]] Tensor codes_of(const Tensor& values, const QuantParams& params);
/// What the codes stand for, in float32.
[[nodiscard]] Tensor values_of(const Tensor& codes, const QuantParams& params);
/// The artifact as the engine takes it, which has neither blocks nor codes of 2 and 4 bits nor scales in codes: such
/// constants as their values.
[[nodiscard]] model::Model with_plain_weights(model::Model artifact);

}  // namespace assay::embedded
