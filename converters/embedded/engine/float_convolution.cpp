// Conv and ConvTranspose in float32: im2col and a blocked product, a direct form where a group has one input channel.
#include <fmt/format.h>

#include <memory>

#include "converters/embedded/engine/convolution.hpp"
#include "converters/embedded/engine/matrix.hpp"

namespace assay::embedded::engine {

std::int64_t padded_volume(const Window& window) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < kSpatial; ++d) {
    elements *= window.in[d] + window.pad_begin[d] + window.pad_end[d];
  }
  return elements;
}

Result<Convolution> bind_convolution(const WindowAttributes& attributes, std::int64_t groups, bool transposed,
                                     const Shape& x, const Shape& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return invalid_data(fmt::format("input {} and weight {} must have the same rank, at least 3", core::shape_text(x),
                                    core::shape_text(w)));
  }
  const std::int64_t in_channels = x[1];
  const std::int64_t weight_in = transposed ? w[0] : w[1] * groups;
  if (groups < 1 || in_channels % groups != 0 || weight_in != in_channels || (!transposed && w[0] % groups != 0)) {
    return invalid_data(
        fmt::format("input {}, weight {} and group {} do not fit: {} input channels are there, the "
                    "weight has {}",
                    core::shape_text(x), core::shape_text(w), groups, in_channels, weight_in));
  }
  const std::span<const std::int64_t> in(x.begin() + 2, x.end());
  const std::span<const std::int64_t> kernel(w.begin() + 2, w.end());
  auto window = transposed ? transposed_window(attributes, in, kernel) : forward_window(attributes, in, kernel);
  if (!window) return window.error();
  Convolution convolution;
  convolution.window = *window;
  convolution.batch = x[0];
  convolution.groups = groups;
  convolution.in_per_group = in_channels / groups;
  convolution.out_per_group = transposed ? w[1] : w[0] / groups;
  convolution.out_shape = with_spatial({x[0], convolution.out_channels()}, window->out, in.size());
  return convolution;
}

namespace {

/// The weight's rows by group: Conv [out per group, in per group * taps]; ConvTranspose its transposed,
/// [out per group * taps, in per group].
std::vector<FloatRows> pack_groups(const Buffer& weight, std::int64_t groups, bool transposed) {
  std::vector<FloatRows> packed;
  const std::int64_t leading = weight.shape()[0] / groups;
  const std::int64_t rest = weight.shape()[0] == 0 ? 0 : weight.size() / weight.shape()[0];
  for (std::int64_t g = 0; g < groups; ++g) {
    const MatrixView<float> view{weight.data<float>() + g * leading * rest, leading, rest, rest, 1};
    packed.emplace_back(transposed ? view.transposed() : view);
  }
  return packed;
}

void add_bias(const Call& call, const Convolution& convolution, float* out) {
  if (!call.has(2)) return;
  const auto* bias = call.input(2).data<float>();
  const std::int64_t plane = convolution.out_plane();
  for (std::int64_t i = 0; i < convolution.batch * convolution.out_channels(); ++i) {
    const float own = bias[i % convolution.out_channels()];
    for (std::int64_t j = 0; j < plane; ++j) out[i * plane + j] += own;
  }
}

void convolve_by_planes(const Call& call, const Convolution& c, float* out) {
  const auto* x = call.input(0).data<float>();
  const auto* w = call.input(1).data<float>();
  std::vector<float> plane(static_cast<std::size_t>(padded_volume(c.window)));
  const std::int64_t taps = volume(c.window.kernel);
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    pad_plane(c.window, x + i * c.in_plane(), 0.0F, plane.data(), [](float value) { return value; });
    for (std::int64_t j = 0; j < c.out_per_group; ++j) {
      const std::int64_t channel = i % c.groups * c.out_per_group + j;
      convolve_plane(c.window, w + channel * taps, plane.data(), out + (i * c.out_per_group + j) * c.out_plane(),
                     loops().float_axpy);
    }
  }
}

void convolve(const Call& call, const Convolution& c, const std::vector<FloatRows>& weights, float* out) {
  const std::int64_t plane = c.out_plane();
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    const WindowRows<float> columns(call.input(0).data<float>() + i * c.in_per_group * c.in_plane(), c.window, 0.0F);
    float* target = out + i * c.out_per_group * plane;
    multiply_float(weights[static_cast<std::size_t>(i % c.groups)], columns, plane,
                   [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count, const float* sums,
                       std::int64_t stride) {
                     for (std::int64_t r = 0; r < rows; ++r) {
                       std::copy_n(sums + r * stride, count, target + (row + r) * plane + first);
                     }
                   });
  }
}

void convolve_transposed(const Call& call, const Convolution& c, const std::vector<FloatRows>& weights, float* out) {
  const std::int64_t in_plane = c.in_plane();
  std::fill_n(out, c.batch * c.out_channels() * c.out_plane(), 0.0F);
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    const MatrixView<float> columns{call.input(0).data<float>() + i * c.in_per_group * in_plane, c.in_per_group,
                                    in_plane, in_plane, 1};
    float* target = out + i * c.out_per_group * c.out_plane();
    multiply_float(weights[static_cast<std::size_t>(i % c.groups)], columns, in_plane,
                   [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count, const float* sums,
                       std::int64_t stride) {
                     for (std::int64_t r = 0; r < rows; ++r) {
                       scatter_row(c.window, row + r, first, count, sums + r * stride, target);
                     }
                   });
  }
}

Result<Kernel> make(const Binding& binding, bool transposed) {
  auto attributes = read_window_attributes(binding.node);
  if (!attributes) return attributes.error();
  const std::int64_t groups = binding.node.int_or("group", 1);
  if (groups < 1) return invalid_model(fmt::format("group is {}, must be positive", groups));
  std::shared_ptr<const std::vector<FloatRows>> packed;
  const Buffer* weight = binding.constant(1);
  if (weight != nullptr && weight->type() == DType::float32 && weight->rank() > 2 && weight->shape()[0] % groups == 0) {
    packed = std::make_shared<const std::vector<FloatRows>>(pack_groups(*weight, groups, transposed));
  }
  return Kernel([attributes = *attributes, groups, transposed, packed](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 2, DType::float32); !status) return status;
    const Buffer& w = call.input(1);
    auto bound = bind_convolution(attributes, groups, transposed, call.input(0).shape(), w.shape());
    if (!bound) return bound.error();
    if (call.has(2) && call.input(2).size() != bound->out_channels()) {
      return invalid_data(fmt::format("bias {} does not fit {} output channels",
                                      core::shape_text(call.input(2).shape()), bound->out_channels()));
    }
    call.outputs[0] = Buffer(DType::float32, bound->out_shape);
    auto* out = call.outputs[0].data<float>();
    if (!transposed && bound->in_per_group == 1) {
      convolve_by_planes(call, *bound, out);
    } else if (transposed) {
      convolve_transposed(call, *bound, packed ? *packed : pack_groups(w, groups, true), out);
    } else {
      convolve(call, *bound, packed ? *packed : pack_groups(w, groups, false), out);
    }
    add_bias(call, *bound, out);
    return core::success();
  });
}

Result<Kernel> make_conv(const Binding& binding) { return make(binding, false); }
Result<Kernel> make_conv_transpose(const Binding& binding) { return make(binding, true); }

}  // namespace

void add_convolution_makers(MakerTable& table) {
  table["Conv"] = &make_conv;
  table["ConvTranspose"] = &make_conv_transpose;
}

}  // namespace assay::embedded::engine
