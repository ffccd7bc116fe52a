#include "reference/cast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/core/float_format.hpp"
#include "reference/arithmetic.hpp"

namespace assay::reference {
namespace {

using core::DType;
using core::Tensor;

constexpr std::size_t kByteBits = 8;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double to_power_of_two(double value, const CastRules& rules) {
  constexpr int kLargest = 127;
  if (std::isnan(value) || value < 0.0) return kNan;
  int exponent = kLargest + 1;
  if (std::isfinite(value)) {
    const double fraction = 2.0 * std::frexp(value, &exponent);  // value = fraction * 2^(exponent - 1), in [1, 2)
    const bool down = fraction == 1.0 || rules.round_mode == PowerRounding::down ||
                      (rules.round_mode == PowerRounding::nearest && fraction < 1.5);
    exponent = value == 0.0 ? -kLargest - 1 : exponent - (down ? 1 : 0);
  }
  if (std::abs(exponent) > kLargest && !rules.saturate) return kNan;
  return std::ldexp(1.0, std::clamp(exponent, -kLargest, kLargest));
}

double to_real(std::int64_t value, DType type, const CastRules& rules) {
  // Straight to float32: by way of float64 a large value would be rounded twice.
  if (type == DType::float32) return static_cast<double>(static_cast<float>(value));
  return cast_real(static_cast<double>(value), type, rules);
}

std::int64_t to_integer(double value, DType type) {
  if (type == DType::boolean) return value != 0.0 ? 1 : 0;
  if (core::element_size_bits(type) < kByteBits) return wrap(truncate_to(value, DType::int64), type);
  return truncate_to(value, type);
}

}  // namespace

Result<CastRules> cast_rules(const OpCall& call) {
  const std::string mode = call.node.string_or("round_mode", "up");
  const bool saturate = call.node.int_or("saturate", 1) != 0;
  if (mode == "up") return CastRules{saturate, PowerRounding::up};
  if (mode == "down") return CastRules{saturate, PowerRounding::down};
  if (mode == "nearest") return CastRules{saturate, PowerRounding::nearest};
  return op_error(fmt::format("round_mode is \"{}\", expected up, down or nearest", mode));
}

double cast_real(double value, DType type, const CastRules& rules) {
  if (type == DType::float8e8m0) return to_power_of_two(value, rules);
  const double rounded = core::round_to_type(value, type);
  const bool beyond = !std::isnan(value) && !std::isfinite(rounded);
  if (beyond && rules.saturate && core::element_size_bits(type) == kByteBits) {
    return std::copysign(core::largest_value(core::float_format(type)), value);
  }
  return rounded;
}

Tensor cast(const Tensor& tensor, DType type, const CastRules& rules) {
  const auto count = static_cast<std::size_t>(tensor.size());
  if (core::is_real(type)) {
    std::vector<double> values(count);
    if (tensor.is_real()) {
      std::ranges::transform(tensor.reals(), values.begin(), [&](double x) { return cast_real(x, type, rules); });
    } else {
      std::ranges::transform(tensor.integers(), values.begin(),
                             [&](std::int64_t x) { return to_real(x, type, rules); });
    }
    return {type, tensor.shape(), std::move(values)};
  }
  std::vector<std::int64_t> values(count);
  if (tensor.is_real()) {
    std::ranges::transform(tensor.reals(), values.begin(), [&](double x) { return to_integer(x, type); });
  } else {
    std::ranges::transform(tensor.integers(), values.begin(), [&](std::int64_t x) { return wrap(x, type); });
  }
  return {type, tensor.shape(), std::move(values)};
}

}  // namespace assay::reference
