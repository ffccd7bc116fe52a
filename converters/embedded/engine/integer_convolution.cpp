// Conv and ConvTranspose on codes: int8 or uint8 operands, int32 accumulators, one requantization per element.
#include <fmt/format.h>

#include <memory>

#include "converters/embedded/engine/convolution.hpp"
#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/matrix.hpp"

namespace assay::embedded::engine {
namespace {

/// Everything that is fixed before the first run.
struct PreparedConvolution {
  WindowAttributes attributes;
  std::int64_t groups = 1;
  Shape weight_shape;
  DType weight_type = DType::int8;
  std::vector<CodeRows> rows;         // by group
  std::vector<std::int32_t> weights;  // centred, for groups of one input channel; empty otherwise
  std::int16_t x_zero_point = 0;      // what is taken off
  std::int64_t pad_code = 0;          // what a padded position holds
  CodeTile tile = nullptr;
  std::optional<Requantizer> requantizer;
  OutputCodes out;
};

// `Out` is a byte for codes, float where the result is left in float.
template <typename Code, typename Out>
void convolve_by_planes(const PreparedConvolution& p, const Convolution& c, const Code* x, Out* out) {
  std::vector<std::int16_t> plane(static_cast<std::size_t>(padded_volume(c.window)));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(c.out_plane()));
  const auto pad = static_cast<std::int16_t>(p.pad_code - p.x_zero_point);
  const std::int64_t taps = volume(c.window.kernel);
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    pad_plane(c.window, x + i * c.in_plane(), pad, plane.data(),
              [&](Code code) { return static_cast<std::int16_t>(code - p.x_zero_point); });
    for (std::int64_t j = 0; j < c.out_per_group; ++j) {
      const std::int64_t channel = i % c.groups * c.out_per_group + j;
      convolve_plane(c.window, p.weights.data() + channel * taps, plane.data(), sums.data(), loops().code_axpy);
      p.requantizer->row(sums.data(), c.out_plane(), channel, out + (i * c.out_per_group + j) * c.out_plane());
    }
  }
}

template <typename Code, typename Out>
void convolve(const PreparedConvolution& p, const Convolution& c, const Code* x, Out* out) {
  const std::int64_t plane = c.out_plane();
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    const std::int64_t group = i % c.groups;
    const WindowRows<Code> columns(x + i * c.in_per_group * c.in_plane(), c.window, static_cast<Code>(p.pad_code));
    Out* target = out + i * c.out_per_group * plane;
    multiply_codes<Code>(p.rows[static_cast<std::size_t>(group)], columns, plane, p.x_zero_point, p.tile,
                         [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                             const std::int32_t* sums, std::int64_t stride) {
                           for (std::int64_t r = 0; r < rows; ++r) {
                             p.requantizer->row(sums + r * stride, count, group * c.out_per_group + row + r,
                                                target + (row + r) * plane + first);
                           }
                         });
  }
}

template <typename Code, typename Out>
void convolve_transposed(const PreparedConvolution& p, const Convolution& c, const Code* x, Out* out) {
  const std::int64_t in_plane = c.in_plane();
  std::vector<std::int32_t> sums(static_cast<std::size_t>(c.out_per_group * c.out_plane()));
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    const std::int64_t group = i % c.groups;
    const MatrixView<Code> columns{x + i * c.in_per_group * in_plane, c.in_per_group, in_plane, in_plane, 1};
    std::ranges::fill(sums, 0);
    multiply_codes<Code>(p.rows[static_cast<std::size_t>(group)], columns, in_plane, p.x_zero_point, p.tile,
                         [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                             const std::int32_t* products, std::int64_t stride) {
                           for (std::int64_t r = 0; r < rows; ++r) {
                             scatter_row(c.window, row + r, first, count, products + r * stride, sums.data());
                           }
                         });
    for (std::int64_t j = 0; j < c.out_per_group; ++j) {
      p.requantizer->row(sums.data() + j * c.out_plane(), c.out_plane(), group * c.out_per_group + j,
                         out + (i * c.out_per_group + j) * c.out_plane());
    }
  }
}

/// Rows of the weight by group, as the products of the two operators need them.
template <typename Code>
void pack(const Buffer& weight, bool transposed, const std::vector<std::int16_t>& zero_points, PreparedConvolution& p) {
  const std::int64_t leading = weight.shape()[0] / p.groups;
  const std::int64_t rest = weight.size() / weight.shape()[0];
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const MatrixView<Code> view{weight.data<Code>() + g * leading * rest, leading, rest, rest, 1};
    if (!transposed) {
      p.rows.emplace_back(
          view, std::vector<std::int16_t>(zero_points.begin() + g * leading, zero_points.begin() + (g + 1) * leading));
      continue;
    }
    // A row is one (output channel, tap); its zero_point is the channel's.
    const std::int64_t taps = rest / weight.shape()[1];
    std::vector<std::int16_t> own;
    for (std::int64_t row = 0; row < rest; ++row) own.push_back(zero_points[static_cast<std::size_t>(row / taps)]);
    p.rows.emplace_back(view.transposed(), std::move(own));
  }
}

template <typename Code>
void centre(const Buffer& weight, const std::vector<std::int16_t>& zero_points, PreparedConvolution& p) {
  const std::int64_t rest = weight.size() / weight.shape()[0];
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    p.weights.push_back(weight.data<Code>()[i] - zero_points[static_cast<std::size_t>(i / rest)]);
  }
}

/// Whether no input can make a sum leave 32 bits.
bool sums_fit(const Buffer& weight, bool transposed, std::int64_t groups, const std::vector<std::int16_t>& zero_points,
              const Operand& x, std::int64_t x_zero_point, std::span<const std::int32_t> biases) {
  const Shape& shape = weight.shape();
  const std::int64_t rest = weight.size() / shape[0];
  const std::int64_t taps = rest / shape[1];
  const std::int64_t in_per_group = shape[0] / groups;
  AccumulatorBounds bounds(static_cast<std::size_t>(transposed ? groups * shape[1] : shape[0]));
  with_code_type(weight.type(), [&](auto code) {
    const auto* codes = weight.data<decltype(code)>();
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      const std::int64_t row = i / rest;
      const std::int64_t own = transposed ? i / taps % shape[1] : row;
      const std::int64_t channel = transposed ? row / in_per_group * shape[1] + own : row;
      bounds.add(static_cast<std::size_t>(channel), codes[i] - zero_points[static_cast<std::size_t>(own)]);
    }
  });
  return bounds.fit(x.params.type, x_zero_point, biases);
}

Result<Kernel> make_windowed(const IntegerBinding& binding, bool transposed) {
  const Operand& x = binding.operand(0);
  const Operand& w = binding.operand(1);
  if (!x.is_per_tensor() || !w.is_codes() || w.constant == nullptr || w.constant->rank() < 3) return Kernel();
  const Buffer& weight = *w.constant;
  auto p = std::make_shared<PreparedConvolution>();
  p->groups = binding.node.int_or("group", 1);
  if (p->groups < 1 || weight.size() == 0 || weight.shape()[0] % p->groups != 0) return Kernel();
  // ConvTranspose's axis 1 has out / groups scales; scale j serves channel j of every group.
  const std::int64_t axis = transposed ? 1 : 0;
  const std::int64_t channels = weight.shape()[static_cast<std::size_t>(axis)];
  const auto params = channel_params(w, axis, weight.rank(), channels, binding.policy);
  if (!params) return Kernel();
  std::vector<double> in_scales;
  for (std::int64_t g = 0; g < (transposed ? p->groups : 1); ++g) {
    for (const double scale : params->scale) in_scales.push_back(x.scale() * scale);
  }
  const auto bias = channel_bias(binding.operand(2), in_scales, static_cast<std::int64_t>(in_scales.size()));
  if (!bias) return Kernel();
  auto attributes = read_window_attributes(binding.node);
  if (!attributes) return attributes.error();
  p->attributes = *attributes;
  p->weight_shape = weight.shape();
  p->weight_type = weight.type();
  p->x_zero_point = subtracted_zero_point(x, binding.policy);
  if (!sums_fit(weight, transposed, p->groups, params->zero_point, x, p->x_zero_point, bias->codes)) return Kernel();
  p->pad_code = binding.policy.pad == PadCode::zero_point ? x.zero_point() : 0;
  p->tile = code_tile(binding.policy.accumulator);
  p->out = binding.outputs[0];
  p->requantizer.emplace(binding.policy, p->out, in_scales, bias->codes, bias->addends);
  const bool by_planes =
      !transposed && weight.shape()[1] == 1 && binding.policy.accumulator != Accumulator::int16_pairs;
  with_code_type(weight.type(), [&](auto code) {
    using Code = decltype(code);
    by_planes ? centre<Code>(weight, params->zero_point, *p) : pack<Code>(weight, transposed, params->zero_point, *p);
  });
  return Kernel([p = std::shared_ptr<const PreparedConvolution>(p), transposed, by_planes](const Call& call) -> Status {
    const Buffer& input = call.input(0);
    auto bound = bind_convolution(p->attributes, p->groups, transposed, input.shape(), p->weight_shape);
    if (!bound) return bound.error();
    call.outputs[0] = Buffer(p->out.type, bound->out_shape);
    with_result(call.outputs[0], [&](auto* out) {
      with_code_type(input.type(), [&](auto code) {
        const auto* codes = input.data<decltype(code)>();
        if (by_planes) {
          convolve_by_planes(*p, *bound, codes, out);
        } else if (transposed) {
          convolve_transposed(*p, *bound, codes, out);
        } else {
          convolve(*p, *bound, codes, out);
        }
      });
    });
    return core::success();
  });
}

Result<Kernel> make_conv(const IntegerBinding& binding) { return make_windowed(binding, false); }
Result<Kernel> make_conv_transpose(const IntegerBinding& binding) { return make_windowed(binding, true); }

}  // namespace

void add_integer_convolution_makers(IntegerMakerTable& table) {
  table["Conv"] = &make_conv;
  table["ConvTranspose"] = &make_conv_transpose;
}

}  // namespace assay::embedded::engine
