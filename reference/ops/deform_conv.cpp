#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/convolution.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kX, kW, kOffset, kBias, kMask };

/// Linear along every axis between the elements around `position`; elements outside of the plane are 0.
double sample(std::span<const double> plane, const Extents& extents, const std::array<double, kSpatialAxes>& position) {
  double sum = 0.0;
  for (unsigned corner = 0; corner < 1U << kSpatialAxes; ++corner) {
    double weight = 1.0;
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < kSpatialAxes; ++axis) {
      const double low = std::floor(position[axis]);
      const bool upper = ((corner >> axis) & 1U) != 0;
      const double element = upper ? low + 1.0 : low;
      weight *= upper ? position[axis] - low : 1.0 - (position[axis] - low);
      if (!(element >= 0.0 && element < static_cast<double>(extents[axis]))) weight = 0.0;
      if (weight == 0.0) break;
      offset = offset * extents[axis] + static_cast<std::int64_t>(element);
    }
    if (weight != 0.0) sum += weight * plane[at(offset)];
  }
  return sum;
}

/// Inputs offset [N, groups * taps * axes, o…] and mask [N, groups * taps, o…].
struct Deformation {
  const Tensor& offset;
  const Tensor* mask;
  std::int64_t groups, taps, axes, positions;

  /// Of axis `axis` of the node's own.
  [[nodiscard]] double shift(std::int64_t n, std::int64_t group, std::int64_t tap, std::int64_t axis,
                             std::int64_t o) const {
    return offset.reals()[at((((n * groups + group) * taps + tap) * axes + axis) * positions + o)];
  }
  [[nodiscard]] double weight(std::int64_t n, std::int64_t group, std::int64_t tap, std::int64_t o) const {
    return mask == nullptr ? 1.0 : mask->reals()[at(((n * groups + group) * taps + tap) * positions + o)];
  }
};

Result<Deformation> deformation_of(const OpCall& call, const Convolution& conv) {
  const std::int64_t groups = call.node.int_or("offset_group", 1);
  const std::int64_t channels = conv.groups * conv.in_channels;
  if (groups < 1 || channels % groups != 0) {
    return op_error(fmt::format("{} channels don't divide into offset_group {}", channels, groups));
  }
  const auto axes = static_cast<std::int64_t>(conv.windows.rank);
  const std::int64_t taps = volume(conv.windows.kernel);
  const Shape offsets = conv.windows.output_shape(conv.batch, groups * taps * axes);
  const Shape masks = conv.windows.output_shape(conv.batch, groups * taps);
  if (call.in(kOffset).shape() != offsets || (call.has_input(kMask) && call.in(kMask).shape() != masks)) {
    return op_error(fmt::format("offset {} and mask {}; expected {} and {}", tensor_text(call.in(kOffset)),
                                call.has_input(kMask) ? tensor_text(call.in(kMask)) : "left out",
                                core::shape_text(offsets), core::shape_text(masks)));
  }
  return Deformation{call.in(kOffset), call.optional_in(kMask), groups, taps, axes, volume(conv.windows.output)};
}

/// Where tap `tap` of output position `o` reads, without its shift.
std::array<double, kSpatialAxes> regular_position(const Windows& w, std::int64_t tap, std::int64_t o) {
  const Extents k{tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
  const Extents out{o / (w.output[1] * w.output[2]), o / w.output[2] % w.output[1], o % w.output[2]};
  std::array<double, kSpatialAxes> position{};
  for (std::size_t axis = 0; axis < kSpatialAxes; ++axis) {
    position[axis] = static_cast<double>(out[axis] * w.stride[axis] - w.pad_begin[axis] + k[axis] * w.dilation[axis]);
  }
  return position;
}

// ONNX DeformConv-22: a Conv (group, strides, pads, dilations) whose taps read x at their place plus `offset`,
// interpolated linearly, times `mask`. Channels share the offsets of their offset_group.
Result<std::vector<Tensor>> run_deform_conv(const OpCall& call) {
  for (std::size_t i = 0; i <= kMask; ++i) {
    if (!call.has_input(i)) continue;
    if (const auto real = require_real(call, i); !real) return real.error();
  }
  const Tensor& x = call.in(kX);
  const auto conv = sliding_convolution(call.node, x.shape(), call.in(kW).shape());
  if (!conv) return conv.error();
  if (const auto bias = check_channel_bias(call, kBias, *conv); !bias) return bias.error();
  const auto deformation = deformation_of(call, *conv);
  if (!deformation) return deformation.error();
  const Shape shape = conv->output_shape();
  const auto count = checked_count(shape);
  if (!count) return count.error();
  const Windows& w = conv->windows;
  const std::int64_t positions = volume(w.output);
  const std::int64_t channels = conv->groups * conv->in_channels;
  const auto first_axis = static_cast<std::int64_t>(kSpatialAxes - w.rank);
  std::vector<double> y(at(*count), 0.0);
  for (std::int64_t n = 0; n < conv->batch; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t group = c / conv->in_channels;
      const std::int64_t offset_group = c / (channels / deformation->groups);
      const auto plane = x.reals().subspan(at((n * channels + c) * volume(w.input)), at(volume(w.input)));
      for (std::int64_t tap = 0; tap < deformation->taps; ++tap) {
        for (std::int64_t o = 0; o < positions; ++o) {
          auto place = regular_position(w, tap, o);
          for (std::int64_t axis = 0; axis < deformation->axes; ++axis) {
            place[at(first_axis + axis)] += deformation->shift(n, offset_group, tap, axis, o);
          }
          const double value = sample(plane, w.input, place) * deformation->weight(n, offset_group, tap, o);
          for (std::int64_t m = group * conv->out_channels; m < (group + 1) * conv->out_channels; ++m) {
            const std::int64_t weight = (m * conv->in_channels + c % conv->in_channels) * deformation->taps + tap;
            y[at((n * conv->all_out_channels() + m) * positions + o)] += value * call.in(kW).reals()[at(weight)];
          }
        }
      }
    }
  }
  if (call.has_input(kBias)) add_channel_bias(*conv, call.in(kBias).reals(), std::span(y));
  return single_output(Tensor(x.type(), shape, std::move(y)));
}

Result<Facts> infer_deform_conv(const ShapeCall& call) {
  for (std::size_t i = 0; i <= kMask; ++i) {
    if (!call.has_input(i)) continue;
    if (const auto real = require_real(call, i); !real) return real.error();
  }
  // The output's places are those of the offsets.
  std::optional<Dims> shape = call.in(kOffset).shape;
  if (shape && shape->size() < 3) return op_error(facts_text(call.in(kOffset)) + ", expected offsets by place");
  if (shape) {
    (*shape)[0] = sharper(extent_of(call.in(kX), 0), (*shape)[0]);
    (*shape)[1] = extent_of(call.in(kW), 0);
  }
  return one(call.in(kX).type, std::move(shape));
}

}  // namespace

const OpDef& op_deform_conv() {
  static const OpDef def{.name = "DeformConv",
                         .first_opset = 19,
                         .min_inputs = 3,
                         .max_inputs = 5,
                         .run = &run_deform_conv,
                         .infer = &infer_deform_conv};
  return def;
}

}  // namespace assay::reference
