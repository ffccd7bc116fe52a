#include "reference/quant.hpp"

#include <cmath>

namespace assay::reference {
namespace {

std::int64_t saturate_to(double value, double low, double high, const core::IntegerLimits& limits) {
  if (!(value > low)) {
    return limits.low;
  }
  return value >= high ? limits.high : static_cast<std::int64_t>(value);
}

}  // namespace

double round_half_even(double value) {
  constexpr double kAllIntegersFrom = 0x1p52;  // doubles this large have no fraction
  if (!(std::abs(value) < kAllIntegersFrom)) {
    return value;  // infinities and NaN too
  }
  const auto towards_zero = static_cast<std::int64_t>(value);
  const double fraction = std::abs(value - static_cast<double>(towards_zero));  // exact
  const bool away = fraction > 0.5 || (fraction == 0.5 && towards_zero % 2 != 0);
  return static_cast<double>(away ? towards_zero + (value < 0.0 ? -1 : 1) : towards_zero);
}

std::int64_t saturate(double value, core::DType type) {
  const core::IntegerLimits limits = core::integer_limits(type);
  return saturate_to(value, static_cast<double>(limits.low), static_cast<double>(limits.high), limits);
}

std::int64_t quantize(double x, double scale, std::int64_t zero_point, core::DType type) {
  return saturate(round_half_even(x / scale) + static_cast<double>(zero_point), type);
}

void quantize(std::span<const double> x, double scale, std::int64_t zero_point, core::DType type,
              std::span<std::int64_t> codes) {
  const core::IntegerLimits limits = core::integer_limits(type);
  const auto low = static_cast<double>(limits.low);
  const auto high = static_cast<double>(limits.high);
  for (std::size_t i = 0; i < x.size(); ++i) {
    codes[i] = saturate_to(round_half_even(x[i] / scale) + static_cast<double>(zero_point), low, high, limits);
  }
}

double dequantize(std::int64_t q, double scale, std::int64_t zero_point) {
  return static_cast<double>(q - zero_point) * scale;
}

std::int64_t requantize(std::int64_t accumulator, double scale_x, double scale_w, double scale_y,
                        std::int64_t zero_point_y, core::DType type) {
  const double multiplier = scale_x * scale_w / scale_y;
  return saturate(round_half_even(static_cast<double>(accumulator) * multiplier) + static_cast<double>(zero_point_y),
                  type);
}

}  // namespace assay::reference
