#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "converters/embedded/engine/kernel.hpp"

namespace assay::embedded::engine {

/// Spatial dimensions that a window can have; fewer are led by extents of 1.
inline constexpr std::size_t kSpatial = 3;
using Extents = std::array<std::int64_t, kSpatial>;

[[nodiscard]] inline std::int64_t volume(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

/// A kernel window sliding over an input: all extents resolved.
struct Window {
  Extents in{1, 1, 1};
  Extents out{1, 1, 1};
  Extents kernel{1, 1, 1};
  Extents stride{1, 1, 1};
  Extents dilation{1, 1, 1};
  Extents pad_begin{0, 0, 0};
  Extents pad_end{0, 0, 0};

  /// True when every output position reads just the input at its own place.
  [[nodiscard]] bool is_pointwise() const;
};

/// kernel_shape, strides, pads, dilations, auto_pad and ceil_mode as the node states them; empty lists are defaults.
struct WindowAttributes {
  enum class AutoPad { notset, same_upper, same_lower, valid };
  std::vector<std::int64_t> kernel_shape, strides, pads, dilations, output_padding, output_shape;
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;
};
[[nodiscard]] Result<WindowAttributes> read_window_attributes(const Node& node);

/// The window of Conv and the pools over spatial extents `in`; `kernel` stands for a missing kernel_shape.
[[nodiscard]] Result<Window> forward_window(const WindowAttributes& attributes, std::span<const std::int64_t> in,
                                            std::span<const std::int64_t> kernel);

/// The window of ConvTranspose: `in` is what slides, so `out` is its result and larger than `in`.
[[nodiscard]] Result<Window> transposed_window(const WindowAttributes& attributes, std::span<const std::int64_t> in,
                                               std::span<const std::int64_t> kernel);

/// `leading` extents followed by the last `rank` of `spatial`.
[[nodiscard]] Shape with_spatial(std::initializer_list<std::int64_t> leading, const Extents& spatial, std::size_t rank);

/// Row-major strides in elements.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape);

/// Elementwise walk over operands that broadcast to one shape, neighbouring dimensions merged where they can be.
class Broadcast {
 public:
  /// Errors   invalid_data with both shapes.
  [[nodiscard]] static Result<Broadcast> of(std::span<const Shape* const> shapes);
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// Elements of one row of the walk, and the step of operand `index` along it (0 or 1).
  [[nodiscard]] std::int64_t row_length() const { return extents_.back(); }
  [[nodiscard]] std::int64_t step(std::size_t index) const { return strides_[index].back(); }

  /// Calls body(first output element, first element of each operand) for every row, in order.
  template <typename Body>
  void for_each_row(Body&& body) const {
    if (empty_) return;
    std::vector<std::int64_t> position(extents_.size(), 0);
    std::vector<std::int64_t> offsets(strides_.size(), 0);
    for (std::int64_t row = 0;; row += row_length()) {
      body(row, offsets.data());
      std::size_t d = extents_.size() - 1;
      for (; d > 0; --d) {
        const std::size_t outer = d - 1;
        for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += strides_[i][outer];
        if (++position[outer] < extents_[outer]) break;
        for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= strides_[i][outer] * extents_[outer];
        position[outer] = 0;
      }
      if (d == 0) return;
    }
  }

 private:
  Shape shape_;
  std::vector<std::int64_t> extents_;               // merged, never empty
  std::vector<std::vector<std::int64_t>> strides_;  // by operand
  bool empty_ = false;
};

/// Writes out[i…] = in[base + i·strides] for every index of `shape`: the core of Transpose, Slice, Expand and Gather.
/// Strides may be zero or negative.
void copy_strided(const Buffer& in, std::int64_t base, std::span<const std::int64_t> strides, Buffer& out);

}  // namespace assay::embedded::engine
