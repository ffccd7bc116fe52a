#include "reference/quant.hpp"

#include <cmath>

namespace assay::reference {

double round_half_even(double value) {
  const double below = std::floor(value);
  const double fraction = value - below;  // exact: both lie within one unit of each other
  if (fraction < 0.5) {
    return below;
  }
  if (fraction > 0.5) {
    return below + 1.0;
  }
  if (fraction == 0.5) {
    return std::fmod(below, 2.0) == 0.0 ? below : below + 1.0;
  }
  return value;  // infinities and NaN
}

std::int64_t saturate(double value, core::DType type) {
  const core::IntegerLimits limits = core::integer_limits(type);
  if (!(value > static_cast<double>(limits.low))) {
    return limits.low;
  }
  if (value >= static_cast<double>(limits.high)) {
    return limits.high;
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t quantize(double x, double scale, std::int64_t zero_point, core::DType type) {
  return saturate(round_half_even(x / scale) + static_cast<double>(zero_point), type);
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
