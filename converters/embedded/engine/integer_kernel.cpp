#include "converters/embedded/engine/integer_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace assay::embedded::engine {
namespace {

// A bias scale is s_x * s_w rounded to float32, possibly after one more rounding.
constexpr double kBiasScaleSlack = 0x1p-20;

double listed(const std::vector<double>& values, std::size_t index) { return values[values.size() == 1 ? 0 : index]; }

}  // namespace

bool Operand::is_per_tensor() const {
  return is_codes() && params.scale.size() == 1 && (params.type == DType::int8 || params.type == DType::uint8);
}

const Operand& IntegerBinding::operand(std::size_t index) const {
  static const Operand absent;
  return index < operands.size() ? operands[index] : absent;
}

const IntegerMakerTable& integer_makers() {
  static const IntegerMakerTable table = [] {
    IntegerMakerTable all;
    add_integer_convolution_makers(all);
    add_integer_elementwise_makers(all);
    add_integer_layout_makers(all);
    add_integer_matmul_makers(all);
    add_integer_pooling_makers(all);
    add_integer_table_makers(all);
    return all;
  }();
  return table;
}

bool sums_products(std::string_view op) {
  return op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
}

bool AccumulatorBounds::fit(DType type, std::int64_t zero_point, std::span<const std::int32_t> biases) const {
  const core::IntegerLimits codes = core::integer_limits(type);
  const core::IntegerLimits sums = core::integer_limits(DType::int32);
  const std::int64_t up = codes.high - zero_point;
  const std::int64_t down = zero_point - codes.low;
  for (std::size_t j = 0; j < positive_.size(); ++j) {
    const std::int64_t bias = biases.empty() ? 0 : biases[j];
    const std::int64_t high = positive_[j] * up + negative_[j] * down + bias;
    const std::int64_t low = bias - positive_[j] * down - negative_[j] * up;
    if (high > sums.high || low < sums.low) return false;
  }
  return true;
}

std::optional<ClipLimits> clip_limits(const Node& clip, std::span<const Buffer* const> constants) {
  ClipLimits limits;
  if (clip.has("min")) limits.low = clip.float_or("min", 0);
  if (clip.has("max")) limits.high = clip.float_or("max", 0);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (clip.input(i).empty()) continue;
    const Buffer* limit = i < constants.size() ? constants[i] : nullptr;
    if (limit == nullptr || limit->type() != DType::float32 || limit->size() != 1) return std::nullopt;
    (i == 1 ? limits.low : limits.high) = static_cast<double>(*limit->data<float>());
  }
  return limits;
}

std::int16_t subtracted_zero_point(const Operand& operand, const ArithmeticPolicy& policy) {
  if (policy.activation_zero_points == ZeroPoints::ignore) return 0;
  return static_cast<std::int16_t>(operand.zero_point());
}

std::optional<ChannelParams> channel_params(const Operand& weight, std::int64_t axis, std::int64_t rank,
                                            std::int64_t count, const ArithmeticPolicy& policy) {
  const core::QuantParams& params = weight.params;
  if (params.type != DType::int8 && params.type != DType::uint8) return std::nullopt;
  ChannelParams channels{params.scale, {}};
  if (params.scale.size() > 1 || params.axis) {
    const std::int64_t declared = params.axis.value_or(1);
    const bool fits =
        (declared < 0 ? declared + rank : declared) == axis && static_cast<std::int64_t>(params.scale.size()) == count;
    if (!fits && params.scale.size() > 1) return std::nullopt;
  }
  channels.scale.resize(static_cast<std::size_t>(count), params.scale.front());
  if (policy.channel_scales == ChannelScales::first) {
    std::ranges::fill(channels.scale, channels.scale.front());
  } else if (policy.channel_scales == ChannelScales::reversed) {
    std::ranges::reverse(channels.scale);
  }
  for (std::size_t j = 0; j < channels.scale.size(); ++j) {
    const std::int64_t zero_point = params.zero_point[params.zero_point.size() == 1 ? 0 : j];
    channels.zero_point.push_back(
        policy.weight_zero_points == ZeroPoints::ignore ? std::int16_t{0} : static_cast<std::int16_t>(zero_point));
  }
  return channels;
}

std::optional<ChannelBias> channel_bias(const Operand& bias, std::span<const double> in_scales, std::int64_t channels,
                                        double factor) {
  ChannelBias result;
  if (bias.kind == Operand::Kind::absent) return result;
  if (bias.constant == nullptr) return std::nullopt;
  const Buffer& values = *bias.constant;
  if (values.size() != channels && values.size() != 1) return std::nullopt;
  const auto count = static_cast<std::size_t>(channels);
  const auto in_scale = [&](std::size_t j) { return in_scales[in_scales.size() == 1 ? 0 : j]; };
  const auto at = [&](std::size_t j) { return values.size() == 1 ? 0 : j; };
  if (bias.kind == Operand::Kind::plain) {
    if (values.type() != DType::float32) return std::nullopt;
    for (std::size_t j = 0; j < count; ++j) {
      result.addends.push_back(factor * static_cast<double>(values.data<float>()[at(j)]) / in_scale(j));
    }
    return result;
  }
  const std::size_t scales = bias.params.scale.size();
  if (scales != 1 && scales != static_cast<std::size_t>(values.size())) return std::nullopt;
  const auto codes = values.to_integers();
  const auto zero_point = [&](std::size_t j) {
    return bias.params.zero_point[bias.params.zero_point.size() == 1 ? 0 : at(j)];
  };
  bool same_scale = values.type() == DType::int32;
  for (std::size_t j = 0; same_scale && j < count; ++j) {
    const double ratio = factor * listed(bias.params.scale, at(j)) / in_scale(j);
    same_scale = std::abs(ratio - 1) <= kBiasScaleSlack && zero_point(j) == 0;
  }
  for (std::size_t j = 0; j < count; ++j) {
    if (same_scale) {
      result.codes.push_back(static_cast<std::int32_t>(codes[at(j)]));
    } else {
      const double real = static_cast<double>(codes[at(j)] - zero_point(j)) * listed(bias.params.scale, at(j));
      result.addends.push_back(factor * real / in_scale(j));
    }
  }
  return result;
}

}  // namespace assay::embedded::engine
