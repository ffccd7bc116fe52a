#include "harness/judge/evidence/derived_params.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/float_format.hpp"
#include "harness/core/tensor.hpp"
#include "reference/quant.hpp"

namespace assay::judge {

using core::DType;
using core::QuantParams;

double symmetric_scale(double low, double high, double divisor, const converters::Policy& policy) {
  return std::max(-low / (policy.full_range ? divisor + 1 : divisor), high / divisor);
}

double power_below(double value) { return std::exp2(std::floor(std::log2(value))); }

StoredScales stored_scales(const core::QuantParams& params, double scale, double steps, std::size_t channel) {
  if (params.scale_type == core::DType::float32 || !(scale > 0)) return {scale, scale, scale};
  if (params.scale_type == core::DType::float8e8m0) {
    const double own = power_below(scale * steps) / power_below(steps);
    return {own, own, std::exp2(std::ceil(std::log2(scale)))};
  }
  const double step = params.scale_step.empty()            ? 0
                      : channel < params.scale_step.size() ? std::fabs(params.scale_step[channel])
                                                           : std::fabs(params.scale_step.front());
  if (!(step > 0)) return {scale, scale, scale};
  const double least = 2 * core::half_gap(0, params.scale_type);
  const double code = core::nearest_code(scale / step, params.scale_type);
  if (code <= least) return {std::min(scale, least * step), least * step, least * step};
  const double error = core::half_gap(scale / step, params.scale_type) * step * (1 + 0x1p-20);
  return {scale - error, code * step, scale + error};
}

double symmetric_steps(DType type, const converters::Policy& policy) {
  constexpr double kHalfOf8Bits = 127.5;
  const auto limits = core::integer_limits(type);
  if (core::is_real(type)) return static_cast<double>(limits.high);
  const double beyond = policy.divisor - kHalfOf8Bits;
  // A range of fewer bits (ONNX Runtime's reduce_range) is one of codes of 8 bits.
  const bool bytes = core::element_size_bits(type) == 8;
  return static_cast<double>(limits.high - limits.low) / 2 + (bytes ? beyond : std::clamp(beyond, -0.5, 0.5));
}

bool is_wide_unsigned(DType type) { return core::integer_limits(type).low == 0 && core::element_size_bits(type) >= 8; }

std::int64_t centre_of(DType type) {
  const auto limits = core::integer_limits(type);
  return limits.low == 0 ? (limits.high + 1) / 2 : 0;
}

bool is_centre(std::int64_t zero_point, DType type) {
  return zero_point == centre_of(type) || (is_wide_unsigned(type) && zero_point == centre_of(type) - 1);
}

bool takes_unsigned(const converters::Policy& policy, double low, double high) {
  return policy.unsigned_codes == converters::UnsignedCodes::nonnegative && low >= 0 && high > 0;
}

QuantParams derive_params(double low, double high, DType type, bool symmetric, const converters::Policy& policy) {
  const double lo = std::min(low, 0.0), hi = std::max({high, 0.0, lo + policy.range_floor});
  if (takes_unsigned(policy, lo, hi)) {
    type = DType::uint8;
    symmetric = false;
  }
  symmetric = symmetric || core::is_real(type);
  const auto limits = core::integer_limits(type);
  const auto qmin = static_cast<double>(limits.low), qmax = static_cast<double>(limits.high);
  double scale = symmetric ? symmetric_scale(lo, hi, symmetric_steps(type, policy), policy) : (hi - lo) / (qmax - qmin);
  const bool widens = !symmetric && policy.zero == converters::ZeroRule::exact && scale > 0;
  const double below = widens ? std::clamp(reference::round_half_even(-lo / scale), 0.0, qmax - qmin) : 0;
  if (widens) {
    const double above = qmax - qmin - below;
    scale = std::max(above > 0 ? hi / above : 0, below > 0 ? -lo / below : 0);
  }
  scale = std::max(scale, policy.scale_floor);
  if (policy.power_of_two && scale > 0) scale = std::exp2(std::ceil(std::log2(scale)));
  if (!(scale >= static_cast<double>(std::numeric_limits<float>::min()))) scale = 1;
  scale = core::round_to_type(scale, DType::float32);
  QuantParams params;
  params.type = type;
  params.scale = {scale};
  const double z = symmetric ? static_cast<double>(centre_of(type))
                   : widens  ? qmin + below
                             : std::clamp(reference::round_half_even(qmin - lo / scale), qmin, qmax);
  params.zero_point = {static_cast<std::int64_t>(z)};
  return params;
}

}  // namespace assay::judge
