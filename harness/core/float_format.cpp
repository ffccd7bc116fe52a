#include "harness/core/float_format.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace assay::core {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::uint32_t low_bits(int count) { return (1U << static_cast<unsigned>(count)) - 1U; }

std::uint32_t sign_bit(const FloatFormat& f) {
  return f.has_sign ? 1U << static_cast<unsigned>(f.exponent_bits + f.fraction_bits) : 0U;
}

/// The largest code of a finite positive number.
std::uint32_t largest_code(const FloatFormat& f) {
  const std::uint32_t all = low_bits(f.exponent_bits + f.fraction_bits);
  if (f.specials == Specials::ieee) return all - low_bits(f.fraction_bits) - 1U;
  return f.specials == Specials::one_nan ? all - 1U : all;
}

double overflow(const FloatFormat& f) {
  if (f.specials == Specials::ieee) return kInfinity;
  return f.specials == Specials::none ? largest_value(f) : kNan;
}

}  // namespace

const FloatFormat& float_format(DType type) {
  static constexpr FloatFormat kFloat16{.exponent_bits = 5, .fraction_bits = 10, .bias = 15};
  static constexpr FloatFormat kBfloat16{.exponent_bits = 8, .fraction_bits = 7, .bias = 127};
  static constexpr FloatFormat kE4m3Fn{
      .exponent_bits = 4, .fraction_bits = 3, .bias = 7, .specials = Specials::one_nan};
  static constexpr FloatFormat kE4m3Fnuz{
      .exponent_bits = 4, .fraction_bits = 3, .bias = 8, .specials = Specials::unsigned_zero};
  static constexpr FloatFormat kE5m2{.exponent_bits = 5, .fraction_bits = 2, .bias = 15};
  static constexpr FloatFormat kE5m2Fnuz{
      .exponent_bits = 5, .fraction_bits = 2, .bias = 16, .specials = Specials::unsigned_zero};
  static constexpr FloatFormat kE2m1{.exponent_bits = 2, .fraction_bits = 1, .bias = 1, .specials = Specials::none};
  static constexpr FloatFormat kE8m0{
      .exponent_bits = 8, .fraction_bits = 0, .bias = 127, .specials = Specials::one_nan, .has_sign = false};
  switch (type) {
    case DType::float16:
      return kFloat16;
    case DType::bfloat16:
      return kBfloat16;
    case DType::float8e4m3fn:
      return kE4m3Fn;
    case DType::float8e4m3fnuz:
      return kE4m3Fnuz;
    case DType::float8e5m2:
      return kE5m2;
    case DType::float8e5m2fnuz:
      return kE5m2Fnuz;
    case DType::float4e2m1:
      return kE2m1;
    default:
      assert(type == DType::float8e8m0);
      return kE8m0;
  }
}

double largest_value(const FloatFormat& format) { return decode_float(largest_code(format), format); }

double round_to_format(double value, const FloatFormat& format) {
  if (std::isnan(value)) return format.specials == Specials::none ? 0.0 : value;
  if (std::isinf(value)) return std::copysign(overflow(format), value);
  if (value == 0) return format.specials == Specials::unsigned_zero ? 0.0 : value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = f * 2^exponent, 0.5 <= |f| < 1
  const int step_exponent = std::max(exponent - 1, format.min_exponent()) - format.fraction_bits;
  // Scaling by a power of two is exact; nearbyint rounds ties to even in the default mode.
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step_exponent)), step_exponent);
  if (std::fabs(rounded) > largest_value(format)) return std::copysign(overflow(format), value);
  return rounded == 0 && format.specials == Specials::unsigned_zero ? 0.0 : rounded;
}

double nearest_code(double value, DType type) {
  const IntegerLimits limits = integer_limits(type);
  const double inside =
      std::isnan(value) ? value : std::clamp(value, static_cast<double>(limits.low), static_cast<double>(limits.high));
  return is_real(type) ? round_to_format(inside, float_format(type)) : std::nearbyint(inside);
}

double half_gap(double value, DType type) {
  if (!is_real(type)) return 1.0 / 2;
  const FloatFormat& format = float_format(type);
  int exponent = format.min_exponent();
  if (value != 0) {
    std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, format.min_exponent());
  }
  return std::ldexp(1.0, exponent - format.fraction_bits - 1);
}

double decode_float(std::uint32_t code, const FloatFormat& format) {
  const std::uint32_t sign = sign_bit(format);
  const std::uint32_t magnitude = code & low_bits(format.exponent_bits + format.fraction_bits);
  if (format.specials == Specials::unsigned_zero && code == sign) return kNan;
  if (magnitude > largest_code(format)) {
    const bool infinite = format.specials == Specials::ieee && magnitude == largest_code(format) + 1U;
    return infinite ? std::copysign(kInfinity, (code & sign) != 0 ? -1.0 : 1.0) : kNan;
  }
  const auto field = static_cast<int>(magnitude >> static_cast<unsigned>(format.fraction_bits));
  const auto fraction = static_cast<int>(magnitude & low_bits(format.fraction_bits));
  const bool subnormal = field == 0 && format.has_sign;
  const int one = subnormal ? 0 : 1 << format.fraction_bits;
  const double value =
      std::ldexp(one + fraction, (subnormal ? format.min_exponent() : field - format.bias) - format.fraction_bits);
  return (code & sign) != 0 ? -value : value;
}

std::uint32_t encode_float(double value, const FloatFormat& format) {
  const std::uint32_t sign = std::signbit(value) ? sign_bit(format) : 0U;
  const auto fraction_bits = static_cast<unsigned>(format.fraction_bits);
  if (std::isnan(value)) {
    // Where there is a choice, the quiet NaN: the fraction's highest bit set.
    if (format.specials == Specials::ieee) return (sign | (largest_code(format) + 1U)) | (1U << (fraction_bits - 1U));
    if (format.specials == Specials::unsigned_zero) return sign_bit(format);
    return format.specials == Specials::one_nan ? sign | (largest_code(format) + 1U) : 0U;
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | (largest_code(format) + 1U);
  int exponent = format.min_exponent();
  if (magnitude != 0) {
    std::frexp(magnitude, &exponent);
    exponent = std::max(exponent - 1, format.min_exponent());
  }
  // In steps of the fraction; a normal number's leading bit lands in the exponent field, one above its zero.
  const auto steps = static_cast<std::uint32_t>(std::ldexp(magnitude, format.fraction_bits - exponent));
  const auto field = static_cast<std::uint32_t>(exponent - format.min_exponent());
  if (!format.has_sign) return field;
  return sign | ((field << fraction_bits) + steps);
}

}  // namespace assay::core
