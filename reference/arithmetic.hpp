#pragma once

#include <cmath>
#include <cstdint>

#include "harness/core/dtype.hpp"

// The arithmetic of elements, once for reals and once for integers. Integer operators of ONNX wrap around in their
// declared type; here they wrap in 64 bits, and `wrap` cuts the result to the type.

namespace assay::reference {

/// What an integer of `type` holds when it is given the low bits of `value`; boolean holds "not zero".
[[nodiscard]] inline std::int64_t wrap(std::int64_t value, core::DType type) {
  switch (type) {
    case core::DType::boolean:
      return value != 0 ? 1 : 0;
    case core::DType::int8:
      return static_cast<std::int8_t>(value);
    case core::DType::uint8:
      return static_cast<std::uint8_t>(value);
    case core::DType::int16:
      return static_cast<std::int16_t>(value);
    case core::DType::uint16:
      return static_cast<std::uint16_t>(value);
    case core::DType::int32:
      return static_cast<std::int32_t>(value);
    case core::DType::uint32:
      return static_cast<std::uint32_t>(value);
    case core::DType::uint4:
      return value & 15;
    case core::DType::int4:
      return ((value + 8) & 15) - 8;
    case core::DType::uint2:
      return value & 3;
    case core::DType::int2:
      return ((value + 2) & 3) - 2;
    default:
      return value;
  }
}

[[nodiscard]] inline double plus(double a, double b) { return a + b; }
[[nodiscard]] inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

[[nodiscard]] inline double minus(double a, double b) { return a - b; }
[[nodiscard]] inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

[[nodiscard]] inline double times(double a, double b) { return a * b; }
[[nodiscard]] inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Integers truncate towards zero; `b` is then not zero. The lowest value divided by -1 wraps.
[[nodiscard]] inline double quotient(double a, double b) { return a / b; }
[[nodiscard]] inline std::int64_t quotient(std::int64_t a, std::int64_t b) { return b == -1 ? minus(0, a) : a / b; }
[[nodiscard]] inline std::int64_t remainder(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a % b; }

/// The smaller (larger) of two; NaN where either is NaN.
[[nodiscard]] inline double lesser(double a, double b) { return std::isnan(a) || a < b ? a : b; }
[[nodiscard]] inline std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
[[nodiscard]] inline double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
[[nodiscard]] inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

/// Truncated towards zero and clamped to `type`; NaN gives 0. ONNX leaves values outside of the range undefined.
[[nodiscard]] inline std::int64_t truncate_to(double value, core::DType type) {
  const core::IntegerLimits limits = core::integer_limits(type);
  if (std::isnan(value)) return 0;
  // As doubles the limits of 64 bits are powers of two, so that >= is exact.
  if (value >= static_cast<double>(limits.high)) return limits.high;
  if (value <= static_cast<double>(limits.low)) return limits.low;
  return static_cast<std::int64_t>(value);
}

}  // namespace assay::reference
