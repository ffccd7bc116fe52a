#include "reference/quant.hpp"

#include <cmath>

namespace assay::reference {
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

std::int64_t saturate(double value, core::DType type) { return saturate(value, core::integer_limits(type)); }

std::int64_t quantize(double x, double scale, std::int64_t zero_point, core::DType type) {
  return saturate(round_half_even(x / scale) + static_cast<double>(zero_point), type);
}

void quantize(std::span<const double> x, double scale, std::int64_t zero_point, core::DType type,
              std::span<std::int64_t> codes) {
  const core::IntegerLimits limits = core::integer_limits(type);
  const auto zero = static_cast<double>(zero_point);
  const double low = static_cast<double>(limits.low) - zero;
  const double high = static_cast<double>(limits.high) - zero;
  // Between these ends, which are whole numbers, saturating first gives the same code, and adding and taking off
  // 1.5·2⁵² leaves a double rounded half to even.
  constexpr double kShift = 0x1.8p52;
  constexpr double kShiftRounds = 0x1p51;
  if (low < -kShiftRounds || high > kShiftRounds) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      codes[i] = quantize(x[i], scale, zero_point, type);
    }
    return;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    double quotient = x[i] / scale;
    quotient = quotient > low ? quotient : low;  // NaN too
    quotient = quotient < high ? quotient : high;
    codes[i] = static_cast<std::int64_t>((quotient + kShift) - kShift + zero);
  }
}

double dequantize(std::int64_t q, double scale, std::int64_t zero_point) {
  return static_cast<double>(q - zero_point) * scale;
}

void dequantize(std::span<const std::int64_t> codes, double scale, std::int64_t zero_point, std::span<double> values) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = static_cast<double>(codes[i] - zero_point) * scale;
  }
}

std::int64_t requantize(std::int64_t accumulator, double scale_x, double scale_w, double scale_y,
                        std::int64_t zero_point_y, core::DType type) {
  const double multiplier = scale_x * scale_w / scale_y;
  return saturate(round_half_even(static_cast<double>(accumulator) * multiplier) + static_cast<double>(zero_point_y),
                  type);
}

}  // namespace assay::reference
