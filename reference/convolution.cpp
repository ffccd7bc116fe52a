#include "reference/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reference/matmul_kernel.hpp"
#include "reference/op_checks.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kMostTileElements = std::int64_t{1} << 18U;  // im2col tiles of 2 MiB
constexpr std::int64_t kLeastTilePositions = 64;
/// With fewer output channels in a group (depthwise: one) im2col copies more than it saves.
constexpr std::int64_t kLeastBlockedChannels = 4;

/// The number of output channels. Errors   input, weights and groups don't fit each other.
Result<Dimension> output_channels(const Node& node, const Dims& x, const Dims& w, bool transposed) {
  const std::int64_t groups = node.int_or("group", 1);
  if (x.size() < 3 || w.size() != x.size()) {
    return op_error(
        fmt::format("input {} and weights {} must have the same rank of at least 3", dims_text(x), dims_text(w)));
  }
  if (groups < 1 || groups > kElementLimit) {
    return op_error(fmt::format("group is {}, expected at least 1", groups));
  }
  const Dimension& expected = w[transposed ? 0 : 1];
  const bool divides = !x[1].value || *x[1].value % groups == 0;
  if (transposed && (!divides || !may_equal(x[1], expected))) {
    return op_error(fmt::format("input {} has {} channels, the weights {} expect {}, in group {}", dims_text(x),
                                dim_text(x[1]), dims_text(w), dim_text(expected), groups));
  }
  if (transposed) {
    const std::array factors{w[1], known(groups)};
    return product(factors);
  }
  if (!divides || (x[1].value && !may_equal(known(*x[1].value / groups), expected))) {
    return op_error(fmt::format("input {} has {} channels in {} group(s), the weights {} expect {} in each",
                                dims_text(x), dim_text(x[1]), groups, dims_text(w), dim_text(expected)));
  }
  if (w[0].value && *w[0].value % groups != 0) {
    return op_error(fmt::format("the {} output channels of weights {} don't divide by group {}", *w[0].value,
                                dims_text(w), groups));
  }
  return w[0];
}

/// x and w as far as known; kernel_shape stands in for weights of unknown rank. Nothing where x has no known rank.
struct KnownOperands {
  Dims x;
  Dims w;
};
std::optional<KnownOperands> known_operands(const ShapeCall& call, std::size_t x, std::size_t w) {
  if (!call.in(x).shape) {
    return std::nullopt;
  }
  KnownOperands operands{.x = *call.in(x).shape, .w = {}};
  if (call.in(w).shape) {
    operands.w = *call.in(w).shape;
    return operands;
  }
  operands.w = unknown_dims(operands.x.size());
  if (const Shape kernel = call.node.ints_or("kernel_shape"); kernel.size() + 2 == operands.x.size()) {
    const Dims taps = dims_of(kernel);
    std::copy(taps.begin(), taps.end(), operands.w.begin() + 2);
  }
  return operands;
}

/// Output channels and extents. `windows_of(input, kernel)` as in output_extents.
template <typename WindowsOf>
Result<std::optional<Dims>> known_output(const Node& node, const std::optional<KnownOperands>& operands,
                                         bool transposed, WindowsOf windows_of) {
  if (!operands) {
    return std::optional<Dims>();
  }
  const auto& [x, w] = *operands;
  const Result<Dimension> channels = output_channels(node, x, w, transposed);
  if (!channels) {
    return channels.error();
  }
  const auto extents = output_extents(std::span(x).subspan(2), std::span(w).subspan(2), windows_of);
  if (!extents) {
    return extents.error();
  }
  Dims shape{x[0], *channels};
  shape.insert(shape.end(), extents->begin(), extents->end());
  return std::optional(std::move(shape));
}

std::span<const std::int64_t> spatial(const Shape& shape) { return std::span(shape).subspan(2); }

/// Calls `row(y_offset, x_offset, range, x_step)` for each line of output elements that tap `k` reaches, with the
/// offsets inside one output and one input plane.
template <typename Row>
void for_each_line(const Windows& w, const Extents& tap, const Row& row) {
  Extents offset{};
  for (std::size_t axis = 0; axis < kSpatialAxes; ++axis) {
    offset[axis] = tap[axis] * w.dilation[axis] - w.pad_begin[axis];
  }
  const Range depth = positions_inside(w.output[0], w.stride[0], offset[0], w.input[0]);
  const Range height = positions_inside(w.output[1], w.stride[1], offset[1], w.input[1]);
  const Range width = positions_inside(w.output[2], w.stride[2], offset[2], w.input[2]);
  if (width.begin == width.end) {
    return;
  }
  for (std::int64_t z = depth.begin; z < depth.end; ++z) {
    for (std::int64_t y = height.begin; y < height.end; ++y) {
      const std::int64_t in_line =
          ((z * w.stride[0] + offset[0]) * w.input[1] + y * w.stride[1] + offset[1]) * w.input[2];
      const std::int64_t out_line = (z * w.output[1] + y) * w.output[2];
      row(out_line + width.begin, in_line + width.begin * w.stride[2] + offset[2], width.end - width.begin);
    }
  }
}

template <typename Visit>
void for_each_tap(const Extents& kernel, const Visit& visit) {
  std::int64_t index = 0;
  for (std::int64_t z = 0; z < kernel[0]; ++z) {
    for (std::int64_t y = 0; y < kernel[1]; ++y) {
      for (std::int64_t x = 0; x < kernel[2]; ++x) {
        visit(Extents{z, y, x}, index++);
      }
    }
  }
}

template <typename T>
std::vector<T> convolve_directly(const Convolution& conv, std::span<const T> x, std::span<const T> w) {
  const Windows& windows = conv.windows;
  const std::int64_t in_plane = volume(windows.input);
  const std::int64_t out_plane = volume(windows.output);
  const std::int64_t taps = volume(windows.kernel);
  std::vector<T> result(at(conv.batch * conv.all_out_channels() * out_plane), T{0});
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t m = 0; m < conv.all_out_channels(); ++m) {
      const std::int64_t group = m / conv.out_channels;
      T* out = result.data() + (n * conv.all_out_channels() + m) * out_plane;
      for (std::int64_t c = 0; c < conv.in_channels; ++c) {
        const T* in = x.data() + ((n * conv.groups + group) * conv.in_channels + c) * in_plane;
        const T* weights = w.data() + (m * conv.in_channels + c) * taps;
        for_each_tap(windows.kernel, [&](const Extents& tap, std::int64_t index) {
          const T weight = weights[index];
          const std::int64_t step = windows.stride[2];
          for_each_line(windows, tap, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) {
              out[to + i] += in[from + i * step] * weight;
            }
          });
        });
      }
    }
  }
  return result;
}

/// True where the input plane itself is the im2col matrix.
bool is_pointwise(const Windows& w) {
  return volume(w.kernel) == 1 && w.stride == Extents{1, 1, 1} && w.pad_begin == Extents{0, 0, 0} &&
         w.pad_end == Extents{0, 0, 0};
}

/// Rows of `columns` are (channel, tap), its columns the output positions [first, first + count).
void image_to_columns(const Convolution& conv, const double* x, std::int64_t first, std::int64_t count,
                      std::vector<double>& columns) {
  const Windows& w = conv.windows;
  columns.assign(at(conv.in_channels * volume(w.kernel) * count), 0.0);
  double* row = columns.data();
  for (std::int64_t c = 0; c < conv.in_channels; ++c) {
    const double* in = x + c * volume(w.input);
    for_each_tap(w.kernel, [&](const Extents& tap, std::int64_t) {
      for_each_line(w, tap, [&](std::int64_t to, std::int64_t from, std::int64_t length) {
        const std::int64_t begin = std::max(to, first);
        const std::int64_t end = std::min(to + length, first + count);
        for (std::int64_t position = begin; position < end; ++position) {
          row[position - first] = in[from + (position - to) * w.stride[2]];
        }
      });
      row += count;
    });
  }
}

/// Adds row (output channel, tap) of `columns`, what that tap sends from the input positions [first, first + count), to
/// the output positions that it reaches.
void add_columns_to_image(const Convolution& conv, std::span<const double> columns, std::int64_t first,
                          std::int64_t count, double* out) {
  // Seen from the output, input and output change places: lines run over inputs that a tap sends inside.
  Windows swapped = conv.windows;
  std::swap(swapped.input, swapped.output);
  const std::int64_t step = conv.windows.stride[2];
  const double* row = columns.data();
  for (std::int64_t m = 0; m < conv.out_channels; ++m) {
    double* plane = out + m * volume(conv.windows.output);
    for_each_tap(conv.windows.kernel, [&](const Extents& tap, std::int64_t) {
      for_each_line(swapped, tap, [&](std::int64_t from, std::int64_t to, std::int64_t length) {
        const std::int64_t begin = std::max(from, first);
        const std::int64_t end = std::min(from + length, first + count);
        for (std::int64_t position = begin; position < end; ++position) {
          plane[to + (position - from) * step] += row[position - first];
        }
      });
      row += count;
    });
  }
}

std::vector<double> transposed_matrix(std::int64_t rows, std::int64_t columns, const double* matrix) {
  std::vector<double> result(at(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      result[at(column * rows + row)] = matrix[row * columns + column];
    }
  }
  return result;
}

}  // namespace

Result<std::optional<Dims>> sliding_output(const ShapeCall& call, std::size_t x, std::size_t w) {
  return known_output(call.node, known_operands(call, x, w), false,
                      [&](const Shape& in, const Shape& taps) { return sliding_windows(call.node, in, taps, false); });
}

Result<std::optional<Dims>> transposed_output(const ShapeCall& call) {
  return known_output(call.node, known_operands(call, 0, 1), true, [&](const Shape& in, const Shape& taps) {
    return transposed_windows(call.node, in, taps, call.opset);
  });
}

Result<Facts> infer_real_convolution(const ShapeCall& call, const Result<std::optional<Dims>>& shape) {
  core::Status status = require_real(call, 0);
  status = status ? require_one_type(call, 3) : status;
  if (!status) {
    return status.error();
  }
  if (!shape) {
    return shape.error();
  }
  if (status = require_shape(call, 2, {*shape ? (**shape)[1] : Dimension()}); !status) {
    return status.error();
  }
  return one(call.in(0).type, *shape);
}

Result<Convolution> sliding_convolution(const Node& node, const Shape& x, const Shape& w) {
  if (const auto channels = output_channels(node, dims_of(x), dims_of(w), false); !channels) {
    return channels.error();
  }
  const std::int64_t groups = node.int_or("group", 1);
  Result<Windows> windows = sliding_windows(node, spatial(x), spatial(w), false);
  if (!windows) {
    return windows.error();
  }
  Convolution conv{
      .batch = x[0], .groups = groups, .in_channels = w[1], .out_channels = w[0] / groups, .windows = *windows};
  if (const Result<std::int64_t> count = checked_count(conv.output_shape()); !count) {
    return count.error();
  }
  return conv;
}

Result<Convolution> transposed_convolution(const Node& node, const Shape& x, const Shape& w, std::int64_t opset) {
  if (const auto channels = output_channels(node, dims_of(x), dims_of(w), true); !channels) {
    return channels.error();
  }
  const std::int64_t groups = node.int_or("group", 1);
  Result<Windows> windows = transposed_windows(node, spatial(x), spatial(w), opset);
  if (!windows) {
    return windows.error();
  }
  Convolution conv{
      .batch = x[0], .groups = groups, .in_channels = x[1] / groups, .out_channels = w[1], .windows = *windows};
  if (const Result<std::int64_t> count = checked_count(conv.output_shape()); !count) {
    return count.error();
  }
  return conv;
}

core::Status check_channel_bias(const OpCall& call, std::size_t index, const Convolution& conv) {
  if (call.has_input(index) && call.in(index).shape() != Shape{conv.all_out_channels()}) {
    return op_error(fmt::format("{} has shape {}, expected one bias for each of {} output channels",
                                input_text(call, index), core::shape_text(call.in(index).shape()),
                                conv.all_out_channels()));
  }
  return core::success();
}

std::vector<double> convolve_plain(const Convolution& conv, std::span<const double> x, std::span<const double> w) {
  return convolve_directly(conv, x, w);
}

std::vector<std::int64_t> convolve_plain(const Convolution& conv, std::span<const std::int64_t> x,
                                         std::span<const std::int64_t> w) {
  return convolve_directly(conv, x, w);
}

std::vector<double> convolve_blocked(const Convolution& conv, std::span<const double> x, std::span<const double> w) {
  const Windows& windows = conv.windows;
  const std::int64_t positions = volume(windows.output);
  const std::int64_t depth = conv.in_channels * volume(windows.kernel);
  std::vector<double> result(at(conv.batch * conv.all_out_channels() * positions), 0.0);
  if (depth == 0) {
    return result;
  }
  const std::int64_t tile = std::max(kLeastTilePositions, kMostTileElements / depth);
  std::vector<double> columns;
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t group = 0; group < conv.groups; ++group) {
      const std::int64_t image = n * conv.groups + group;
      const double* in = x.data() + image * conv.in_channels * volume(windows.input);
      const double* weights = w.data() + group * conv.out_channels * depth;
      double* out = result.data() + image * conv.out_channels * positions;
      if (is_pointwise(windows)) {
        multiply_add(conv.out_channels, positions, depth, {weights, depth}, {in, positions}, {out, positions});
        continue;
      }
      for (std::int64_t first = 0; first < positions; first += tile) {
        const std::int64_t count = std::min(tile, positions - first);
        image_to_columns(conv, in, first, count, columns);
        multiply_add(conv.out_channels, count, depth, {weights, depth}, {columns.data(), count},
                     {out + first, positions});
      }
    }
  }
  return result;
}

std::vector<double> convolve(const Convolution& conv, std::span<const double> x, std::span<const double> w) {
  return conv.out_channels < kLeastBlockedChannels ? convolve_plain(conv, x, w) : convolve_blocked(conv, x, w);
}

std::vector<double> convolve_transposed(const Convolution& conv, std::span<const double> x, std::span<const double> w) {
  const std::int64_t in_plane = volume(conv.windows.input);
  const std::int64_t out_plane = volume(conv.windows.output);
  const std::int64_t rows = conv.out_channels * volume(conv.windows.kernel);
  std::vector<double> result(at(conv.batch * conv.all_out_channels() * out_plane), 0.0);
  if (rows == 0) {
    return result;
  }
  const std::int64_t tile = std::max(kLeastTilePositions, kMostTileElements / rows);
  std::vector<double> columns;
  for (std::int64_t group = 0; group < conv.groups; ++group) {
    const std::vector<double> weights = transposed_matrix(
        conv.in_channels, rows, w.data() + group * conv.in_channels * rows);  // of (output channel, tap)
    for (std::int64_t n = 0; n < conv.batch; ++n) {
      const std::int64_t image = n * conv.groups + group;
      const double* in = x.data() + image * conv.in_channels * in_plane;
      double* out = result.data() + image * conv.out_channels * out_plane;
      for (std::int64_t first = 0; first < in_plane; first += tile) {
        const std::int64_t count = std::min(tile, in_plane - first);
        columns.assign(at(rows * count), 0.0);
        multiply_add(rows, count, conv.in_channels, {weights.data(), conv.in_channels}, {in + first, in_plane},
                     {columns.data(), count});
        add_columns_to_image(conv, columns, first, count, out);
      }
    }
  }
  return result;
}

Result<std::vector<Tensor>> run_real_convolution(const OpCall& call, const Result<Convolution>& conv,
                                                 std::vector<double> (*products)(const Convolution&,
                                                                                 std::span<const double>,
                                                                                 std::span<const double>)) {
  core::Status status = require_real(call, 0);
  status = status ? require_same_type(call, 0, 1) : status;
  status = status ? require_same_type(call, 0, 2) : status;
  if (!status) {
    return status.error();
  }
  if (!conv) {
    return conv.error();
  }
  if (status = check_channel_bias(call, 2, *conv); !status) {
    return status.error();
  }
  std::vector<double> y = products(*conv, call.in(0).reals(), call.in(1).reals());
  if (const Tensor* bias = call.optional_in(2)) {
    add_channel_bias<double>(*conv, bias->reals(), y);
  }
  return std::vector{Tensor(call.in(0).type(), conv->output_shape(), std::move(y))};
}

}  // namespace assay::reference
