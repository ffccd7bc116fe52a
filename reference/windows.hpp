#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "reference/op.hpp"

namespace assay::reference {

/// Convolution and pooling work on up to three spatial axes; missing leading ones have extent 1.
inline constexpr std::size_t kSpatialAxes = 3;
using Extents = std::array<std::int64_t, kSpatialAxes>;

[[nodiscard]] constexpr std::int64_t volume(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

/// How windows slide over an input: output `o`, tap `k` of an axis reads input `o * stride - pad_begin + k * dilation`.
/// For a ConvTranspose input and output change places: input `i`, tap `k` adds to output
/// `i * stride - pad_begin + k * dilation`.
struct Windows {
  std::size_t rank = 0;  ///< spatial axes the node really has, the last `rank` of the arrays
  Extents input{1, 1, 1};
  Extents output{1, 1, 1};
  Extents kernel{1, 1, 1};
  Extents stride{1, 1, 1};
  Extents dilation{1, 1, 1};
  Extents pad_begin{0, 0, 0};
  Extents pad_end{0, 0, 0};

  /// {batch, channels, output extents …} with the node's own rank.
  [[nodiscard]] Shape output_shape(std::int64_t batch, std::int64_t channels) const;
};

/// Input 0 has a batch, channels and at least one spatial axis.
[[nodiscard]] core::Status require_spatial_axes(const OpCall& call);
[[nodiscard]] core::Status require_spatial_axes(const ShapeCall& call);

/// Windows of Conv and of the pools, from strides, dilations, pads and auto_pad of `node`.
/// Shapes   `input` and `kernel` are the spatial extents.
/// Formula  ONNX Conv-11: floor((in + pads - dilated kernel) / stride) + 1; SAME: ceil(in / stride); with `ceil_mode`
///          the quotient is rounded up, but a window that would start in the padding at the end is left out
///          (MaxPool-22).
/// Errors   invalid_model for attributes that don't fit; unsupported for more than three spatial axes.
[[nodiscard]] Result<Windows> sliding_windows(const Node& node, std::span<const std::int64_t> input,
                                              std::span<const std::int64_t> kernel, bool ceil_mode);

/// Windows of ConvTranspose, from output_padding and output_shape too.
/// Formula  ONNX ConvTranspose-11: stride * (in - 1) + output_padding + dilated kernel - pads; with output_shape (or
///          SAME: in * stride) the total padding follows from it and the odd element goes to the end for SAME_UPPER,
///          to the beginning otherwise; before opset 11 to the end unless SAME_LOWER.
[[nodiscard]] Result<Windows> transposed_windows(const Node& node, std::span<const std::int64_t> input,
                                                 std::span<const std::int64_t> kernel, std::int64_t opset);

/// Output extents where some of the input's or the kernel's are not known: `windows_of(input, kernel)` makes the
/// windows of extents that are. The axes do not depend on each other, so that a stand-in for an open one tells the
/// others.
template <typename WindowsOf>
Result<Dims> output_extents(std::span<const Dimension> input, std::span<const Dimension> kernel, WindowsOf windows_of) {
  Shape in;
  Shape taps;
  for (const Dimension& extent : input) in.push_back(extent.value.value_or(kElementLimit));
  for (const Dimension& extent : kernel) taps.push_back(extent.value.value_or(1));
  const Result<Windows> windows = windows_of(in, taps);
  if (!windows) {
    return windows.error();
  }
  Dims output = dims_of(std::span(windows->output).last(windows->rank));
  for (std::size_t axis = 0; axis < output.size(); ++axis) {
    if (!input[axis].value || !kernel[axis].value) {
      output[axis] = {};
    }
  }
  return output;
}

/// The half-open range of positions in [0, count) whose `position * stride + offset` lies in [0, extent).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
[[nodiscard]] Range positions_inside(std::int64_t count, std::int64_t stride, std::int64_t offset, std::int64_t extent);

}  // namespace assay::reference
