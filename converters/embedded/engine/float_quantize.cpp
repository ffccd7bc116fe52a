// QuantizeLinear and DequantizeLinear as ONNX's text has them, per tensor and per axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "converters/embedded/engine/geometry.hpp"
#include "converters/embedded/engine/requantize.hpp"
#include "harness/core/float_format.hpp"

namespace assay::embedded::engine {
namespace {

/// How elements find their scale: `outer` blocks of `channels` runs of `inner` elements.
struct Channels {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;
};

Result<Channels> channels_of(const Shape& shape, const Buffer& scale, std::int64_t axis) {
  Channels split;
  if (scale.rank() > 1) return unsupported("block quantization; give one scale per tensor or per axis");
  if (scale.size() == 1) {
    split.inner = core::element_count(shape);
    return split;
  }
  const auto resolved = resolve_axis(axis, std::ssize(shape));
  if (!resolved) return resolved.error();
  const auto d = static_cast<std::size_t>(*resolved);
  split.channels = shape[d];
  if (split.channels != scale.size()) {
    return invalid_data(fmt::format("{} scales along axis {} of {}", scale.size(), axis, core::shape_text(shape)));
  }
  for (std::size_t i = 0; i < d; ++i) split.outer *= shape[i];
  for (std::size_t i = d + 1; i < shape.size(); ++i) split.inner *= shape[i];
  return split;
}

template <typename Body>
void for_each_channel(const Channels& split, Body&& body) {
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::int64_t c = 0; c < split.channels; ++c) body(c, (o * split.channels + c) * split.inner);
  }
}

/// The usual arithmetic without a branch per element: divide in float32, round half to even, add, saturate.
template <typename Code>
void quantize_run(const float* x, std::int64_t count, float scale, const OutputCodes& out, Code* codes) {
  constexpr double kRoundingShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds half to even
  const auto low = static_cast<double>(out.low - out.zero_point);
  const auto high = static_cast<double>(out.high - out.zero_point);
  const auto zero_point = static_cast<double>(out.zero_point);
  for (std::int64_t i = 0; i < count; ++i) {
    auto value = static_cast<double>(x[i] / scale);
    value = value == value ? value : 0.0;  // a NaN counts as zero
    value = value < low ? low : value;
    value = value > high ? high : value;
    value = (value + kRoundingShift) - kRoundingShift;
    codes[i] = static_cast<Code>(static_cast<std::int32_t>(value + zero_point));
  }
}

bool is_plain(const ArithmeticPolicy& policy) {
  return policy.rounding == Rounding::half_even && policy.zero_point_order == ZeroPointOrder::after_rounding &&
         policy.saturation == Saturation::clamp && policy.requantization != Requantization::reciprocal;
}

/// The number of `type` for `quotient`. Beyond the largest: that one, or without `saturates` what the type has there.
float float8_of(float quotient, DType type, bool saturates) {
  const auto value = static_cast<double>(quotient);
  const double code =
      saturates ? core::nearest_code(value, type) : core::round_to_format(value, core::float_format(type));
  return static_cast<float>(code);
}

/// What the attributes of a QuantizeLinear say.
struct Asked {
  std::int64_t axis = 1;
  DType type = DType::uint8;  ///< where no zero_point tells
  bool saturates = true;
};

Status quantize(const Call& call, const Asked& asked, const ArithmeticPolicy& policy) {
  if (auto status = expect_inputs(call, 2, DType::float32); !status) return status;
  const Buffer& x = call.input(0);
  const Buffer& scale = call.input(1);
  const Buffer* zero_point = call.has(2) ? &call.input(2) : nullptr;
  const DType type = zero_point != nullptr ? zero_point->type() : asked.type;
  const bool real = core::is_real(type) && core::is_code_type(type);
  if (!real && (!core::is_integer(type) || core::element_size_bits(type) < 8 || core::element_size_bits(type) > 16)) {
    return unsupported(
        fmt::format("codes of type {}; the engine quantizes to 8 and 16 bits and float8", core::dtype_name(type)));
  }
  auto split = channels_of(x.shape(), scale, asked.axis);
  if (!split) return split.error();
  const auto zero_points = zero_point != nullptr ? zero_point->to_integers() : std::vector<std::int64_t>{0};
  call.outputs[0] = Buffer(type, x.shape());
  for_each_channel(*split, [&](std::int64_t c, std::int64_t first) {
    const float own = scale.data<float>()[c];
    if (real) {
      auto* numbers = call.outputs[0].data<float>() + first;
      const float* in = x.data<float>() + first;
      for (std::int64_t i = 0; i < split->inner; ++i) numbers[i] = float8_of(in[i] / own, type, asked.saturates);
      return;
    }
    const auto out = output_codes(type, static_cast<double>(own),
                                  zero_points[zero_points.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    const float* values = x.data<float>() + first;
    with_element_type(type, [&](auto code) {
      if constexpr (sizeof(code) <= 2) {
        auto* codes = call.outputs[0].data<decltype(code)>() + first;
        if (is_plain(policy)) return quantize_run(values, split->inner, own, out, codes);
        const bool reciprocal = policy.requantization == Requantization::reciprocal;
        for (std::int64_t i = 0; i < split->inner; ++i) {
          const float value = reciprocal ? values[i] * (1.0F / own) : values[i] / own;
          codes[i] = static_cast<decltype(code)>(finish_integer(static_cast<double>(value), out, policy));
        }
      }
    });
  });
  return core::success();
}

Status dequantize(const Call& call, std::int64_t axis, CodeDifference difference) {
  if (!call.has(0) || !call.has(1)) return invalid_model("x and x_scale are required");
  const Buffer& codes = call.input(0);
  const Buffer& scale = call.input(1);
  if (scale.type() != DType::float32 || !core::is_code_type(codes.type())) {
    return unsupported(fmt::format("codes of type {} with a scale of type {}", core::dtype_name(codes.type()),
                                   core::dtype_name(scale.type())));
  }
  auto split = channels_of(codes.shape(), scale, axis);
  if (!split) return split.error();
  const auto zero_points = call.has(2) ? call.input(2).to_integers() : std::vector<std::int64_t>{0};
  if (zero_points.size() != 1 && std::ssize(zero_points) != scale.size()) {
    return invalid_data(fmt::format("{} zero_points for {} scales", zero_points.size(), scale.size()));
  }
  call.outputs[0] = Buffer(DType::float32, codes.shape());
  auto* out = call.outputs[0].data<float>();
  for_each_channel(*split, [&](std::int64_t c, std::int64_t first) {
    const float own = scale.data<float>()[c];
    const std::int64_t zero_point = zero_points[zero_points.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    with_element_type(codes.type(), [&](auto element) {
      const auto* in = codes.data<decltype(element)>() + first;
      if constexpr (std::is_same_v<decltype(element), float>) {
        for (std::int64_t i = 0; i < split->inner; ++i) out[first + i] = in[i] * own;
      } else if constexpr (sizeof(element) == 1) {
        const auto zero = static_cast<std::int32_t>(zero_point);
        if (difference == CodeDifference::own_type) {
          for (std::int64_t i = 0; i < split->inner; ++i) {
            out[first + i] = static_cast<float>(static_cast<decltype(element)>(in[i] - zero)) * own;
          }
          return;
        }
        for (std::int64_t i = 0; i < split->inner; ++i) {
          out[first + i] = static_cast<float>(static_cast<std::int32_t>(in[i]) - zero) * own;
        }
      } else {
        for (std::int64_t i = 0; i < split->inner; ++i) {
          out[first + i] = static_cast<float>(static_cast<std::int64_t>(in[i]) - zero_point) * own;
        }
      }
    });
  });
  return core::success();
}

/// ONNX DynamicQuantizeLinear-11: codes over the range of x, widened to hold 0, with their scale and zero point.
Status quantize_dynamically(const Call& call) {
  if (auto status = expect_inputs(call, 1, DType::float32); !status) return status;
  if (call.outputs.size() != 3) return invalid_model("y, y_scale and y_zero_point are required");
  const Buffer& x = call.input(0);
  float low = 0, high = 0;
  for (const float value : x.span<float>()) {
    if (!std::isfinite(value)) return invalid_data("NaN and infinities leave no range to quantize");
    low = std::min(low, value);
    high = std::max(high, value);
  }
  constexpr float kSteps = 255;
  const double range = static_cast<double>(high) - static_cast<double>(low);  // may lie beyond float32
  const auto step = static_cast<float>(range / static_cast<double>(kSteps));  // may vanish
  const float scale = step > 0 ? step : 1.0F;
  const auto zero_point = static_cast<std::int64_t>(std::nearbyint(std::min(-low / scale, kSteps)));
  call.outputs[0] = Buffer(DType::uint8, x.shape());
  quantize_run(x.data<float>(), x.size(), scale, output_codes(DType::uint8, static_cast<double>(scale), zero_point),
               call.outputs[0].data<std::uint8_t>());
  call.outputs[1] = Buffer(DType::float32, {});
  *call.outputs[1].data<float>() = scale;
  call.outputs[2] = Buffer(DType::uint8, {});
  *call.outputs[2].data<std::uint8_t>() = static_cast<std::uint8_t>(zero_point);
  return core::success();
}

Result<Kernel> make_dynamic_quantize(const Binding& /*binding*/) { return Kernel(&quantize_dynamically); }

Result<Kernel> make_plain_quantize(const Binding& binding) { return make_quantize(binding, {}); }

Result<Kernel> make_plain_dequantize(const Binding& binding) { return make_dequantize(binding, {}); }

}  // namespace

Result<Kernel> make_quantize(const Binding& binding, const ArithmeticPolicy& policy) {
  const Asked asked{
      .axis = binding.node.int_or("axis", 1),
      .type = static_cast<DType>(binding.node.int_or("output_dtype", static_cast<std::int64_t>(DType::uint8))),
      .saturates = binding.node.int_or("saturate", 1) != 0};
  return Kernel([asked, policy](const Call& call) { return quantize(call, asked, policy); });
}

Result<Kernel> make_dequantize(const Binding& binding, const ArithmeticPolicy& policy) {
  return Kernel([axis = binding.node.int_or("axis", 1), difference = policy.code_difference](const Call& call) {
    return dequantize(call, axis, difference);
  });
}

void add_quantize_makers(MakerTable& table) {
  table["QuantizeLinear"] = &make_plain_quantize;
  table["DynamicQuantizeLinear"] = &make_dynamic_quantize;
  table["DequantizeLinear"] = &make_plain_dequantize;
}

}  // namespace assay::embedded::engine
