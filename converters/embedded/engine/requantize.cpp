#include "converters/embedded/engine/requantize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay::embedded::engine {
namespace {

/// Beyond this no product matters: every code is at an end of its range long before.
constexpr double kLargestFactor = 1e300;

double quotient(double in_scale, double out_scale) { return std::min(in_scale / out_scale, kLargestFactor); }

/// A multiple of out.scale, whole already, to a code.
std::int64_t limit_integer(std::int64_t value, const OutputCodes& out, const ArithmeticPolicy& policy) {
  if (policy.saturation == Saturation::wrap) {
    // Only a fused activation limits; the type's own ends do not.
    const auto limits = core::integer_limits(out.type);
    if (out.low > limits.low) value = std::max(value, out.low);
    if (out.high < limits.high) value = std::min(value, out.high);
    return value;
  }
  const auto limits = core::integer_limits(out.type);
  if (policy.saturation == Saturation::before_zero_point) {
    value = std::clamp(value - out.zero_point, limits.low, limits.high) + out.zero_point;
  } else if (policy.saturation == Saturation::narrow && limits.low < 0) {
    value = std::max(value, limits.low + 1);
  } else if (policy.saturation == Saturation::signed_high) {
    value = std::min(value, core::integer_limits(DType::int8).high);
  }
  return std::clamp(value, out.low, out.high);
}

/// The same as a code of 8 bits.
std::uint8_t limit_code(std::int64_t value, const OutputCodes& out, const ArithmeticPolicy& policy) {
  return static_cast<std::uint8_t>(limit_integer(value, out, policy));
}

bool has_default_rounding(const ArithmeticPolicy& policy) {
  return policy.requantization == Requantization::float64_multiply && policy.rounding == Rounding::half_even &&
         policy.zero_point_order == ZeroPointOrder::after_rounding && policy.saturation == Saturation::clamp;
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

/// acc * m as two roundings, each half away from zero: the high half of the doubled product, then a shift.
std::int64_t double_rounded(std::int64_t acc, const FixedPoint& factor, int bits) {
  // factor = (multiplier / 2^bits) * 2^(bits - shift); a left shift comes before the high half, a right one after.
  const int exponent = bits - factor.shift;
  const std::int64_t shifted = exponent > 0 ? shift_rounded(acc, -exponent, Rounding::half_away) : acc;
  const std::int64_t in_32 = std::clamp<std::int64_t>(shifted, std::numeric_limits<std::int32_t>::min(),
                                                      std::numeric_limits<std::int32_t>::max());
  const std::int64_t high = shift_rounded(in_32 * factor.multiplier, bits, Rounding::half_away);
  return exponent < 0 ? shift_rounded(high, -exponent, Rounding::half_away) : high;
}

}  // namespace

OutputCodes output_codes(DType type, double scale, std::int64_t zero_point) {
  const auto limits = core::integer_limits(type);
  return {type, scale, zero_point, limits.low, limits.high};
}

double round_value(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::half_even:
      return std::nearbyint(value);
    case Rounding::half_away:
      return std::round(value);
    case Rounding::half_up: {
      const double down = std::floor(value);
      return value - down >= 0.5 ? down + 1 : down;
    }
    case Rounding::truncate:
      return std::trunc(value);
    case Rounding::floor:
      return std::floor(value);
  }
  return value;
}

std::int64_t finish_integer(double value, const OutputCodes& out, const ArithmeticPolicy& policy) {
  if (std::isnan(value)) value = 0;
  constexpr double kFar = 1e15;  // whole numbers up to here are exact in a double, and any code is long saturated
  value = std::clamp(value, -kFar, kFar);
  const auto zero_point = static_cast<double>(out.zero_point);
  const double whole = policy.zero_point_order == ZeroPointOrder::after_rounding
                           ? round_value(value, policy.rounding) + zero_point
                           : round_value(value + zero_point, policy.rounding);
  return limit_integer(static_cast<std::int64_t>(whole), out, policy);
}

std::uint8_t finish_code(double value, const OutputCodes& out, const ArithmeticPolicy& policy) {
  return static_cast<std::uint8_t>(finish_integer(value, out, policy));
}

FixedPoint fixed_point(double factor, int bits) {
  if (!(factor > 0)) return {};
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);
  auto multiplier = static_cast<std::int64_t>(std::llround(std::ldexp(fraction, bits)));
  int shift = bits - exponent;
  if (multiplier == std::int64_t{1} << bits) {
    multiplier /= 2;
    --shift;
  }
  return {multiplier, shift};
}

std::int64_t shift_rounded(std::int64_t product, int shift, Rounding rounding) {
  if (shift <= 0) {
    const bool fits = -shift < 62 && std::abs(product) <= std::numeric_limits<std::int64_t>::max() >> -shift;
    if (fits) return product * (std::int64_t{1} << -shift);
    if (product == 0) return 0;
    return product > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  }
  if (shift > 62) return rounding == Rounding::floor && product < 0 ? -1 : 0;
  const std::int64_t one = std::int64_t{1} << shift;
  const std::int64_t half = one >> 1;
  const std::int64_t down = product >> shift;
  const std::int64_t rest = product - down * one;
  switch (rounding) {
    case Rounding::half_even:
      return down + (rest > half || (rest == half && down % 2 != 0) ? 1 : 0);
    case Rounding::half_away:
      return down + (rest > half || (rest == half && product >= 0) ? 1 : 0);
    case Rounding::half_up:
      return down + (rest >= half ? 1 : 0);
    case Rounding::truncate:
      return down + (rest != 0 && product < 0 ? 1 : 0);
    case Rounding::floor:
      return down;
  }
  return down;
}

namespace {

constexpr int kAllBits = 32;
/// At how many bits sums wrap.
constexpr int bits_of(Accumulator accumulator) {
  if (accumulator == Accumulator::int16) return 16;
  return accumulator == Accumulator::int24 ? 24 : kAllBits;
}

}  // namespace

Requantizer::Requantizer(const ArithmeticPolicy& policy, const OutputCodes& out, std::span<const double> in_scales,
                         std::span<const std::int32_t> biases, std::span<const double> addends)
    : policy_(policy), out_(out) {
  is_default_ = has_default_rounding(policy) && bits_of(policy.accumulator) == kAllBits;
  const std::size_t count = std::max({in_scales.size(), biases.size(), addends.size()});
  channels_.resize(count);
  for (std::size_t j = 0; j < count; ++j) {
    Channel& channel = channels_[j];
    channel.in_scale = in_scales[in_scales.size() == 1 ? 0 : j];
    if (policy.bias == BiasUse::add) {
      if (!biases.empty()) channel.bias = biases[biases.size() == 1 ? 0 : j];
      if (!addends.empty()) channel.addend = addends[addends.size() == 1 ? 0 : j];
    }
    const double factor = quotient(channel.in_scale, out.scale);
    channel.fixed = fixed_point(factor, policy.multiplier_bits);
    channel.fast = {channel.bias,
                    channel.addend,
                    factor,
                    static_cast<double>(out.low - out.zero_point),
                    static_cast<double>(out.high - out.zero_point),
                    static_cast<double>(out.zero_point)};
  }
}

void Requantizer::row(const std::int32_t* acc, std::int64_t count, std::int64_t channel, std::uint8_t* codes) const {
  const Channel& own = channel_at(channel);
  if (is_default_) {
    loops().requantize_row(acc, count, own.fast, codes);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) codes[i] = general_code(acc[i], own);
}

void Requantizer::row(const std::int32_t* acc, std::int64_t count, std::int64_t channel, float* reals) const {
  const Channel& own = channel_at(channel);
  for (std::int64_t i = 0; i < count; ++i) reals[i] = static_cast<float>(biased(acc[i], own) * own.in_scale);
}

std::uint8_t Requantizer::code(std::int32_t acc, std::int64_t channel) const {
  std::uint8_t code = 0;
  row(&acc, 1, channel, &code);
  return code;
}

/// The accumulator with its bias, as the policy's width holds them.
double Requantizer::biased(std::int32_t acc, const Channel& channel) const {
  auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(acc) + static_cast<std::uint32_t>(channel.bias));
  const int dropped = kAllBits - bits_of(policy_.accumulator);
  sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) << dropped) >> dropped;
  return static_cast<double>(sum) + channel.addend;
}

std::uint8_t Requantizer::general_code(std::int32_t acc, const Channel& channel) const {
  const double exact = biased(acc, channel);
  switch (policy_.requantization) {
    case Requantization::float64_multiply:
      return finish_code(exact * channel.fast.multiplier, out_, policy_);
    case Requantization::float32_multiply: {
      const float value = static_cast<float>(exact) * static_cast<float>(channel.fast.multiplier);
      return finish_code(static_cast<double>(value), out_, policy_);
    }
    case Requantization::reciprocal: {
      const float real = static_cast<float>(exact) * static_cast<float>(channel.in_scale);
      const float value = real * (1.0F / static_cast<float>(out_.scale));
      return finish_code(static_cast<double>(value), out_, policy_);
    }
    case Requantization::float16_multiply:
      return finish_code(core::round_to_type(exact * channel.fast.multiplier, DType::float16), out_, policy_);
    case Requantization::fixed_point:
    case Requantization::double_rounding:
      break;
  }
  const auto whole = static_cast<std::int64_t>(std::llrint(std::clamp(exact, -2147483648.0, 2147483647.0)));
  if (policy_.requantization == Requantization::double_rounding) {
    const std::int64_t value = double_rounded(whole, channel.fixed, policy_.multiplier_bits);
    return limit_code(saturating_add(value, out_.zero_point), out_, policy_);
  }
  std::int64_t product = whole * channel.fixed.multiplier;
  const int shift = channel.fixed.shift;
  if (policy_.zero_point_order == ZeroPointOrder::before_rounding && shift > 0 && shift < 54) {
    product = saturating_add(product, out_.zero_point * (std::int64_t{1} << shift));
    return limit_code(shift_rounded(product, shift, policy_.rounding), out_, policy_);
  }
  return limit_code(saturating_add(shift_rounded(product, shift, policy_.rounding), out_.zero_point), out_, policy_);
}

SumRequantizer::SumRequantizer(const ArithmeticPolicy& policy, const OutputCodes& out, double first_scale,
                               double second_scale)
    : policy_(policy), out_(out), first_scale_(first_scale), second_scale_(second_scale) {
  if (policy.operand_scales == OperandScales::first) second_scale_ = std::copysign(first_scale, second_scale);
  is_default_ = has_default_rounding(policy);
  const auto signed_quotient = [&](double scale) { return std::copysign(quotient(std::abs(scale), out.scale), scale); };
  const auto zero_point = static_cast<double>(out.zero_point);
  fast_ = {signed_quotient(first_scale_), signed_quotient(second_scale_), static_cast<double>(out.low) - zero_point,
           static_cast<double>(out.high) - zero_point, zero_point};
  // One shift for both: the larger factor gets all the bits but one, so that the sum has room.
  const double larger = std::max(std::abs(fast_.first), std::abs(fast_.second));
  shift_ = fixed_point(larger, policy.multiplier_bits).shift;
  first_fixed_ = std::llround(std::ldexp(fast_.first, shift_));
  second_fixed_ = std::llround(std::ldexp(fast_.second, shift_));
}

std::uint8_t SumRequantizer::code(std::int32_t first, std::int32_t second) const {
  switch (policy_.requantization) {
    case Requantization::float32_multiply: {
      const float value = static_cast<float>(first) * static_cast<float>(fast_.first) +
                          static_cast<float>(second) * static_cast<float>(fast_.second);
      return finish_code(static_cast<double>(value), out_, policy_);
    }
    case Requantization::reciprocal: {
      const float real = static_cast<float>(first) * static_cast<float>(first_scale_) +
                         static_cast<float>(second) * static_cast<float>(second_scale_);
      return finish_code(static_cast<double>(real * (1.0F / static_cast<float>(out_.scale))), out_, policy_);
    }
    case Requantization::fixed_point:
    case Requantization::double_rounding: {
      const Rounding rounding =
          policy_.requantization == Requantization::fixed_point ? policy_.rounding : Rounding::half_away;
      const std::int64_t sum = first * first_fixed_ + second * second_fixed_;
      return limit_code(saturating_add(shift_rounded(sum, shift_, rounding), out_.zero_point), out_, policy_);
    }
    case Requantization::float16_multiply: {
      const double value = static_cast<double>(first) * fast_.first + static_cast<double>(second) * fast_.second;
      return finish_code(core::round_to_type(value, DType::float16), out_, policy_);
    }
    case Requantization::float64_multiply:
      break;
  }
  return finish_code(static_cast<double>(first) * fast_.first + static_cast<double>(second) * fast_.second, out_,
                     policy_);
}

void narrow(OutputCodes& out, std::optional<double> low, std::optional<double> high, const ArithmeticPolicy& policy) {
  const OutputCodes whole = out;
  const auto code = [&](double limit) {
    return std::int64_t{code_value(finish_code(limit / whole.scale, whole, policy), whole.type)};
  };
  if (low) out.low = std::max(out.low, code(*low));
  if (high) out.high = std::min(out.high, code(*high));
  out.low = std::min(out.low, out.high);  // Clip with min > max gives max
}

void narrow_to_relu(OutputCodes& out, const ArithmeticPolicy& policy) {
  out.low = std::max(out.low, policy.relu_floor == ReluFloor::zero_point ? out.zero_point : 0);
  out.low = std::min(out.low, out.high);
}

std::vector<std::uint8_t> moved_codes_table(const ArithmeticPolicy& policy, DType in_type, double in_scale,
                                            std::int64_t in_zero_point, const OutputCodes& out) {
  std::vector<std::uint8_t> table(256);
  ArithmeticPolicy own = policy;
  own.bias = BiasUse::add;
  own.accumulator = Accumulator::int32;
  const std::array scales{in_scale};
  const Requantizer requantizer(own, out, scales);
  const bool same = in_type == out.type && in_scale == out.scale && in_zero_point == out.zero_point;
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    const std::int32_t code = code_value(byte, in_type);
    if (same || policy.moved_codes == MovedCodes::copy) {
      table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(code, out.low, out.high));
    } else {
      table[static_cast<std::size_t>(i)] = requantizer.code(code - static_cast<std::int32_t>(in_zero_point), 0);
    }
  }
  return table;
}

}  // namespace assay::embedded::engine
