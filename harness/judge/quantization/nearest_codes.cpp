#include "harness/judge/quantization/nearest_codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "harness/core/float_format.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "reference/quant.hpp"

namespace assay::judge {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;

TensorPtr nearest(const TensorPtr& values, const QuantParams& params) {
  const auto channels = ChannelIndex::make(values->shape(), params);
  if (!channels || !values->is_real()) return nullptr;
  Tensor result = *values;
  const std::span<double> out = result.reals();
  std::vector<std::int64_t> codes(out.size());
  channels->for_each_run(out.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    const double scale = params.scale[channel];
    if (std::isnan(scale) || scale == 0) return;
    if (core::is_real(params.type)) {
      for (std::size_t i = first; i < first + length; ++i)
        out[i] = core::nearest_code(out[i] / scale, params.type) * scale;
      return;
    }
    const std::int64_t zero_point = params.zero_point.empty() ? 0 : params.zero_point[channel];
    const std::span<std::int64_t> run = std::span(codes).subspan(first, length);
    reference::quantize(out.subspan(first, length), scale, zero_point, params.type, run);
    for (std::size_t i = first; i < first + length; ++i) {
      if (std::isnan(out[i])) continue;
      // Means of two codes lie at ties, from which float64's own rounding must not move them.
      const double steps = out[i] / scale, middle = std::floor(steps) + 0.5;
      const bool tie = std::fabs(steps - middle) <= 0x1p-40 * std::fabs(middle);
      const std::int64_t code = tie ? reference::quantize(middle, 1, zero_point, params.type) : codes[i];
      out[i] = reference::dequantize(code, scale, zero_point);
    }
  });
  return std::make_shared<const Tensor>(std::move(result));
}

TensorPtr brought_within(const Tensor& values, const std::vector<Interval>& limits) {
  Tensor result = values;
  for (std::size_t i = 0; i < limits.size(); ++i)
    result.reals()[i] = std::clamp(result.reals()[i], limits[i].low, limits[i].high);
  return std::make_shared<const Tensor>(std::move(result));
}

TensorPtr with_ties_of(const TensorPtr& own, const TensorPtr& weight, const QuantParams& params,
                       const TensorPtr& codes) {
  const auto channels = ChannelIndex::make(weight->shape(), params);
  if (own == nullptr || own->shape() != weight->shape() || !channels) return codes;
  Tensor result = *codes;
  for (std::size_t i = 0; i < result.reals().size(); ++i) {
    const double value = weight->reals()[i];
    const double scale = std::fabs(params.scale[channels->channel(i)]);
    const double half = (scale > 0 ? scale * core::half_gap(value / scale, params.type) : 0) +
                        0x1p-22 * std::fabs(value);  // as audited
    if (std::fabs(own->reals()[i] - value) <= half) result.reals()[i] = own->reals()[i];
  }
  return std::make_shared<const Tensor>(std::move(result));
}

TensorPtr nearest_bias(const Tensor& bias, double input_scale, const std::vector<double>& weight_scales) {
  const auto channels = static_cast<std::int64_t>(weight_scales.size());
  Tensor result = bias.size() == 1 && channels > 1
                      ? Tensor(bias.type(), {channels}, std::vector<double>(weight_scales.size(), bias.as_real(0)))
                      : bias;
  const std::span<double> out = result.reals();
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double step = input_scale * weight_scales[j % weight_scales.size()];
    if (step > 0) out[j] = reference::dequantize(reference::quantize(out[j], step, 0, core::DType::int32), step, 0);
  }
  return std::make_shared<const Tensor>(std::move(result));
}

}  // namespace assay::judge
