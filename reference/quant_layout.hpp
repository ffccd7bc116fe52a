#pragma once

#include <algorithm>
#include <cstdint>

#include "reference/op_checks.hpp"

namespace assay::reference {

/// Which of a tensor's scales each of its elements takes.
struct QuantLayout {
  AxisSplit split;              ///< around the axis along which scales run; per tensor it has extent 1
  std::int64_t block_size = 0;  ///< elements along the axis that share a scale, or 0: each index has its own

  /// Number of blocks along the axis; the last one may be short.
  [[nodiscard]] std::int64_t blocks() const { return split.extent / block_size + (split.extent % block_size != 0); }
  /// Number of scales. Those of blocks lie in row-major order of the tensor's shape with blocks() along the axis.
  [[nodiscard]] std::int64_t count() const {
    return block_size == 0 ? split.extent : split.outer * blocks() * split.inner;
  }
  /// The scale of element `flat` in row-major order.
  [[nodiscard]] std::int64_t scale_of(std::int64_t flat) const {
    const std::int64_t line = flat / split.inner;
    if (block_size == 0) return line % split.extent;
    return (line / split.extent * blocks() + line % split.extent / block_size) * split.inner + flat % split.inner;
  }
  /// Visits the elements in order as runs that share a scale: `visit(first element, elements, index of the scale)`.
  template <typename Visit>
  void for_each_run(const Visit& visit) const;
};

template <typename Visit>
void QuantLayout::for_each_run(const Visit& visit) const {
  if (block_size != 0 && split.inner == 1) {
    std::int64_t scale = 0;
    for (std::int64_t row = 0; row < split.outer; ++row) {
      for (std::int64_t i = 0; i < split.extent; i += block_size, ++scale) {
        visit(row * split.extent + i, std::min(block_size, split.extent - i), scale);
      }
    }
    return;
  }
  for (std::int64_t line = 0; line < split.outer * split.extent; ++line) {
    const std::int64_t first = line * split.inner;
    if (block_size == 0) {
      visit(first, split.inner, line % split.extent);
      continue;
    }
    const std::int64_t scale = scale_of(first);
    for (std::int64_t i = 0; i < split.inner; ++i) visit(first + i, 1, scale + i);
  }
}

}  // namespace assay::reference
