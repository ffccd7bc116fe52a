#include "harness/judge/granted_params.hpp"

#include <algorithm>
#include <cmath>

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;

/// float32 roundings of a weight's scale and of w / s: 2⁻²² of DESIGN's weight rule.
constexpr double kScaleRounding = 1 + 0x1p-22;
/// Largest magnitude of an int32 bias code.
constexpr double kBiasCodes = 0x1p31;

CalibrationRanges ranges_of(const LayerContext& context) {
  CalibrationRanges calibration;
  if (context.ranges != nullptr) {
    calibration.ranges = *context.ranges;
  }
  return calibration;
}

}  // namespace

GrantedParams::GrantedParams(const LayerContext& context)
    : context_(context), calibration_(ranges_of(context)), legal_(context, calibration_) {}

QuantParams GrantedParams::activation(const std::string& tensor, const QuantParams& declared) const {
  const QuantParams* own = audited(tensor);
  const bool fits_type = own != nullptr && own->type == declared.type && declared.scale.size() == 1;
  // The quantiles of a percentile are not at hand here; the audit of parameters has judged those scales.
  if (!fits_type || context_.evidence.options.method == converters::Method::percentile) {
    return declared;
  }
  return legal_.check(tensor, declared, false) ? *own : declared;
}

const QuantParams* GrantedParams::audited(const std::string& tensor) const {
  const auto found = context_.audited.find(tensor);
  return found == context_.audited.end() ? nullptr : &found->second;
}

std::vector<double> GrantedParams::weight_scales(const Tensor& weight, std::int64_t axis, const QuantParams* declared,
                                                 const Tensor* bias, double input_scale) const {
  const bool along_axis = declared == nullptr ? context_.evidence.options.per_axis && axis >= 0
                                              : declared->scale.size() > 1 && declared->axis == axis;
  const std::size_t channels =
      along_axis ? static_cast<std::size_t>(weight.shape()[static_cast<std::size_t>(axis)]) : 1;
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(std::max<std::int64_t>(axis, 0)) + 1; i < weight.shape().size(); ++i) {
    inner *= static_cast<std::size_t>(weight.shape()[i]);
  }
  const bool is_asymmetric =
      declared != nullptr &&
      std::any_of(declared->zero_point.begin(), declared->zero_point.end(), [](std::int64_t z) { return z != 0; });
  const std::span<const double> values = weight.reals();
  std::vector<double> low(channels, 0.0), high(channels, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    low[channel] = std::min(low[channel], values[i]);
    high[channel] = std::max(high[channel], values[i]);
  }
  std::vector<double> scales(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double audited = is_asymmetric ? (high[c] - low[c]) / 255
                                         : std::max(-low[c], high[c]) / context_.evidence.converter.policy.divisor;
    double raised = audited * kScaleRounding;
    if (bias != nullptr && input_scale > 0) {
      // b must fit into int32 at scale s_x·s_w: a correct converter raises s_w until it does.
      for (std::int64_t j = 0; j < bias->size(); ++j) {
        if (channels == 1 || static_cast<std::size_t>(j) % channels == c) {
          raised = std::max(raised, std::fabs(bias->as_real(j)) / (kBiasCodes * input_scale) * kScaleRounding);
        }
      }
    }
    const bool matches = declared != nullptr && (declared->scale.size() == 1 || declared->scale.size() == channels);
    scales[c] = matches ? std::min(raised, declared->scale[declared->scale.size() == 1 ? 0 : c]) : raised;
  }
  return scales;
}

std::vector<double> GrantedParams::weight_radius(const Tensor& weight, std::int64_t axis, const QuantParams* declared,
                                                 const Tensor* bias, double input_scale) const {
  const std::vector<double> scales = weight_scales(weight, axis, declared, bias, input_scale);
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(std::max<std::int64_t>(axis, 0)) + 1; i < weight.shape().size(); ++i) {
    inner *= static_cast<std::size_t>(weight.shape()[i]);
  }
  const std::span<const double> values = weight.reals();
  std::vector<double> radius(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scale = scales[i / inner % scales.size()];
    // A divisor above 127 lets the largest weights lie beyond the last code.
    const double clip = context_.evidence.converter.policy.divisor > 127 ? std::fabs(values[i]) - 127 * scale : 0;
    radius[i] = values[i] == 0 ? 0 : std::max(scale / 2 + 0x1p-22 * std::fabs(values[i]), clip);
  }
  return radius;
}

double rounding_radius(double low, double high, double scale, std::int64_t zero_point, core::DType type) {
  if (low == 0 && high == 0) {
    return 0;  // zero has a code of its own
  }
  const core::IntegerLimits limits = core::integer_limits(type);
  const double bottom = static_cast<double>(limits.low - zero_point) * scale;
  const double top = static_cast<double>(limits.high - zero_point) * scale;
  return std::max({scale / 2, high - top, bottom - low});
}

}  // namespace assay::judge
