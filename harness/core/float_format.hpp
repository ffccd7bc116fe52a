#pragma once

#include <cstdint>

#include "harness/core/dtype.hpp"

namespace assay::core {

/// What the codes of a small floating-point type stand for beside numbers.
enum class Specials : std::uint8_t {
  ieee,           ///< the largest exponent field holds infinity and NaN
  one_nan,        ///< all bits but the sign set is NaN, there is no infinity ("FN")
  unsigned_zero,  ///< the code of -0 is NaN, there is no infinity ("FNUZ")
  none,           ///< every code is a number
};

/// A binary floating-point type of at most 16 bits: sign, exponent field, fraction.
struct FloatFormat {
  int exponent_bits = 0;
  int fraction_bits = 0;
  int bias = 0;
  Specials specials = Specials::ieee;
  bool has_sign = true;  ///< FLOAT8E8M0 is an exponent field alone: no sign, no zero, all bits set is NaN

  /// Exponent of the least normal number, whose step the subnormals share.
  [[nodiscard]] int min_exponent() const { return has_sign ? 1 - bias : -bias; }
};

/// The format of `type`, which is_real and has at most 16 bits.
[[nodiscard]] const FloatFormat& float_format(DType type);

/// The largest finite value.
[[nodiscard]] double largest_value(const FloatFormat& format);

/// `value` rounded to the nearest that the format holds, ties to the even fraction. Beyond the largest: infinity, or
/// NaN where there is none, or the largest where there is neither; NaN becomes 0 there.
[[nodiscard]] double round_to_format(double value, const FloatFormat& format);

/// The code of a quantizer of `type`, an integer or small floating-point one, that is nearest to `value`, ties to even;
/// beyond the ends the last one. NaN stays.
[[nodiscard]] double nearest_code(double value, DType type);
/// Half of the distance between the codes around `value`: 0.5 of an integer type. Where codes of two distances meet, of
/// the wider one.
[[nodiscard]] double half_gap(double value, DType type);

/// The number that `code` stands for, and the code of a number that the format holds (round first).
[[nodiscard]] double decode_float(std::uint32_t code, const FloatFormat& format);
[[nodiscard]] std::uint32_t encode_float(double value, const FloatFormat& format);

}  // namespace assay::core
