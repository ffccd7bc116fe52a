#include "reference/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/op_checks.hpp"

namespace assay::reference {
namespace {

std::int64_t ceil_divide(std::int64_t numerator, std::int64_t denominator) {
  return numerator / denominator + (numerator % denominator > 0 ? 1 : 0);
}

std::int64_t floor_divide(std::int64_t numerator, std::int64_t denominator) {
  return numerator / denominator - (numerator % denominator < 0 ? 1 : 0);
}

/// Extent of the dilated kernel along `axis`.
std::int64_t kernel_span(const Windows& windows, std::size_t axis) {
  return (windows.kernel[axis] - 1) * windows.dilation[axis] + 1;
}

/// Copies `values` to the last `rank` places of `extents`, after checking their number and their range.
core::Status place(std::span<const std::int64_t> values, std::size_t rank, std::int64_t least, std::string_view what,
                   Extents& extents, std::size_t offset = 0) {
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t value = values[offset + i];
    if (value < least || value > kElementLimit) {
      return op_error(fmt::format("{} is {}; expected values of at least {}", what, core::shape_text(values), least));
    }
    extents[kSpatialAxes - rank + i] = value;
  }
  return core::success();
}

/// The list attribute `name` placed into `extents`; left alone where it is absent.
core::Status read_list(const Node& node, std::string_view name, std::size_t rank, std::int64_t least,
                       Extents& extents) {
  if (!node.has(name)) {
    return core::success();
  }
  const std::vector<std::int64_t> values = node.ints_or(name);
  if (values.size() != rank) {
    return op_error(
        fmt::format("attribute {} has {} values, expected {}, one for each spatial axis", name, values.size(), rank));
  }
  return place(values, rank, least, name, extents);
}

core::Status read_pads(const Node& node, Windows& windows) {
  if (!node.has("pads")) {
    return core::success();
  }
  const std::vector<std::int64_t> pads = node.ints_or("pads");
  if (pads.size() != 2 * windows.rank) {
    return op_error(fmt::format("attribute pads has {} values, expected {}, two for each spatial axis", pads.size(),
                                2 * windows.rank));
  }
  if (core::Status status = place(pads, windows.rank, 0, "pads", windows.pad_begin); !status) {
    return status;
  }
  return place(pads, windows.rank, 0, "pads", windows.pad_end, windows.rank);
}

core::Status check_auto_pad(const std::string& auto_pad) {
  if (auto_pad != "NOTSET" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER" && auto_pad != "VALID") {
    return op_error(fmt::format("auto_pad is \"{}\"; expected NOTSET, SAME_UPPER, SAME_LOWER or VALID", auto_pad));
  }
  return core::success();
}

/// What both kinds of windows have in common.
Result<Windows> read_windows(const Node& node, std::span<const std::int64_t> input,
                             std::span<const std::int64_t> kernel) {
  Windows windows;
  windows.rank = input.size();
  if (windows.rank == 0 || windows.rank > kSpatialAxes) {
    return op_unsupported(fmt::format("{} spatial axes; the reference handles one to three", windows.rank));
  }
  if (kernel.size() != windows.rank) {
    return op_error(fmt::format("the kernel {} has {} axes, the input has {} spatial axes", core::shape_text(kernel),
                                kernel.size(), windows.rank));
  }
  const std::vector<std::int64_t> declared = node.ints_or("kernel_shape");
  if (!declared.empty() && !std::equal(declared.begin(), declared.end(), kernel.begin(), kernel.end())) {
    return op_error(fmt::format("kernel_shape is {}, but the weights have {}", core::shape_text(declared),
                                core::shape_text(kernel)));
  }
  core::Status status = place(input, windows.rank, 0, "the input's extents", windows.input);
  status = status ? place(kernel, windows.rank, 1, "the kernel's extents", windows.kernel) : status;
  status = status ? read_list(node, "strides", windows.rank, 1, windows.stride) : status;
  status = status ? read_list(node, "dilations", windows.rank, 1, windows.dilation) : status;
  status = status ? read_pads(node, windows) : status;
  status = status ? check_auto_pad(node.string_or("auto_pad", "NOTSET")) : status;
  if (!status) {
    return status.error();
  }
  if (node.string_or("auto_pad", "NOTSET") != "NOTSET") {  // pads and auto_pad exclude each other; auto_pad wins
    windows.pad_begin = {0, 0, 0};
    windows.pad_end = {0, 0, 0};
  }
  return windows;
}

void split_padding(Windows& windows, std::size_t axis, std::int64_t total, bool odd_one_at_end) {
  const std::int64_t smaller = total / 2;
  windows.pad_begin[axis] = odd_one_at_end ? smaller : total - smaller;
  windows.pad_end[axis] = total - windows.pad_begin[axis];
}

}  // namespace

namespace {

core::Status check_spatial_axes(const std::string& input, const Dims& shape) {
  if (shape.size() < 3) {
    return op_error(fmt::format("{} has shape {}, expected a batch, channels and at least one spatial axis", input,
                                dims_text(shape)));
  }
  return core::success();
}

}  // namespace

core::Status require_spatial_axes(const OpCall& call) {
  return check_spatial_axes(input_text(call, 0), dims_of(call.in(0).shape()));
}

core::Status require_spatial_axes(const ShapeCall& call) {
  return call.in(0).shape ? check_spatial_axes(input_text(call, 0), *call.in(0).shape) : core::success();
}

Shape Windows::output_shape(std::int64_t batch, std::int64_t channels) const {
  Shape shape{batch, channels};
  shape.insert(shape.end(), output.end() - static_cast<std::ptrdiff_t>(rank), output.end());
  return shape;
}

Result<Windows> sliding_windows(const Node& node, std::span<const std::int64_t> input,
                                std::span<const std::int64_t> kernel, bool ceil_mode) {
  Result<Windows> result = read_windows(node, input, kernel);
  if (!result) {
    return result;
  }
  Windows& windows = *result;
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  for (std::size_t axis = kSpatialAxes - windows.rank; axis < kSpatialAxes; ++axis) {
    const std::int64_t in = windows.input[axis];
    const std::int64_t stride = windows.stride[axis];
    const std::int64_t span = kernel_span(windows, axis);
    if (same) {
      windows.output[axis] = ceil_divide(in, stride);
      split_padding(windows, axis, std::max<std::int64_t>(0, (windows.output[axis] - 1) * stride + span - in),
                    auto_pad == "SAME_UPPER");
      continue;
    }
    const std::int64_t room = in + windows.pad_begin[axis] + windows.pad_end[axis] - span;
    if (room < 0) {
      return op_error(
          fmt::format("the dilated kernel covers {} elements along spatial axis {}, the padded input has {}", span,
                      axis - (kSpatialAxes - windows.rank), room + span));
    }
    const bool round_up = ceil_mode && auto_pad == "NOTSET";
    windows.output[axis] = (round_up ? ceil_divide(room, stride) : room / stride) + 1;
    if (round_up && (windows.output[axis] - 1) * stride >= in + windows.pad_begin[axis]) {
      --windows.output[axis];
    }
  }
  return result;
}

Result<Windows> transposed_windows(const Node& node, std::span<const std::int64_t> input,
                                   std::span<const std::int64_t> kernel, std::int64_t opset) {
  Result<Windows> result = read_windows(node, input, kernel);
  if (!result) {
    return result;
  }
  Windows& windows = *result;
  Extents output_padding{0, 0, 0};
  Extents wanted{0, 0, 0};
  core::Status status = read_list(node, "output_padding", windows.rank, 0, output_padding);
  status = status ? read_list(node, "output_shape", windows.rank, 0, wanted) : status;
  if (!status) {
    return status.error();
  }
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const bool odd_one_at_end = auto_pad == "SAME_UPPER" || (auto_pad != "SAME_LOWER" && opset < 11);
  for (std::size_t axis = kSpatialAxes - windows.rank; axis < kSpatialAxes; ++axis) {
    const std::int64_t in = windows.input[axis];
    const std::int64_t stride = windows.stride[axis];
    if (output_padding[axis] >= std::max(stride, windows.dilation[axis])) {
      return op_error(fmt::format("output_padding {} must be less than the stride {} or the dilation {}",
                                  output_padding[axis], stride, windows.dilation[axis]));
    }
    const std::int64_t whole = stride * (in - 1) + output_padding[axis] + kernel_span(windows, axis);
    if (same || node.has("output_shape")) {
      windows.output[axis] = node.has("output_shape") ? wanted[axis] : in * stride;
      split_padding(windows, axis, std::max<std::int64_t>(0, whole - windows.output[axis]), odd_one_at_end);
    } else {
      windows.output[axis] = whole - windows.pad_begin[axis] - windows.pad_end[axis];
    }
    if (windows.output[axis] < 0) {
      return op_error(fmt::format("the pads leave an output extent of {} along spatial axis {}", windows.output[axis],
                                  axis - (kSpatialAxes - windows.rank)));
    }
  }
  return result;
}

Range positions_inside(std::int64_t count, std::int64_t stride, std::int64_t offset, std::int64_t extent) {
  const std::int64_t begin = std::max<std::int64_t>(0, ceil_divide(-offset, stride));
  const std::int64_t end = std::min(count, floor_divide(extent - 1 - offset, stride) + 1);
  return {begin, std::max(begin, end)};
}

}  // namespace assay::reference
