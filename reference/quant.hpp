#pragma once

#include <cstdint>
#include <span>

#include "harness/core/dtype.hpp"

namespace assay::reference {

/// Rounds to the nearest integer, ties to even, independent of the processor's rounding mode.
[[nodiscard]] double round_half_even(double value);

/// Clamps to the range of `type` in the wide type, then narrows; infinities go to the ends. NaN has no
/// code (it would come out as the low end): callers refuse it before.
[[nodiscard]] std::int64_t saturate(double value, core::DType type);

/// The same with the type's limits at hand.
[[nodiscard]] inline std::int64_t saturate(double value, const core::IntegerLimits& limits) {
  if (!(value > static_cast<double>(limits.low))) {
    return limits.low;
  }
  return value >= static_cast<double>(limits.high) ? limits.high : static_cast<std::int64_t>(value);
}

/// ONNX QuantizeLinear: saturate(round_half_even(x / scale) + zero_point): divide, round, *then* add.
[[nodiscard]] std::int64_t quantize(double x, double scale, std::int64_t zero_point, core::DType type);

/// The same for each element of `x`, into `codes` of the same length.
void quantize(std::span<const double> x, double scale, std::int64_t zero_point, core::DType type,
              std::span<std::int64_t> codes);

/// ONNX DequantizeLinear: (q - zero_point) * scale.
[[nodiscard]] double dequantize(std::int64_t q, double scale, std::int64_t zero_point);

/// The same for each of `codes`, into `values` of the same length.
void dequantize(std::span<const std::int64_t> codes, double scale, std::int64_t zero_point, std::span<double> values);

/// saturate(round_half_even(acc * (s_x * s_w / s_y)) + zero_point_y) from an integer accumulator.
[[nodiscard]] std::int64_t requantize(std::int64_t accumulator, double scale_x, double scale_w, double scale_y,
                                      std::int64_t zero_point_y, core::DType type);

}  // namespace assay::reference
