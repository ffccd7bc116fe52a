#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// The shape to which both broadcast: aligned at the last axis, extents equal or one of them 1.
/// Errors   naming both shapes where they disagree, or where the result would be too large.
[[nodiscard]] Result<Shape> broadcast_shape(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

/// The same for extents of which some are not known.
[[nodiscard]] Result<Dims> broadcast_dims(const Dims& a, const Dims& b);

/// Distance in elements of `from` for one step along each axis of `to`: 0 along axes that are stretched or missing.
/// `from` must broadcast to `to`.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> from,
                                                          std::span<const std::int64_t> to);

/// Visits every position of `shape` in row-major order: `visit(position, offsets)` where offsets[i] is the position in
/// the operand whose strides are strides[i].
template <std::size_t N, typename Visit>
void for_each_broadcast(const Shape& shape, const std::array<std::vector<std::int64_t>, N>& strides, Visit&& visit) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  std::array<std::int64_t, N> offsets{};
  if (shape.empty()) {
    visit(std::int64_t{0}, offsets);
    return;
  }
  const std::size_t last = shape.size() - 1;
  std::vector<std::int64_t> coordinate(shape.size(), 0);
  std::int64_t position = 0;
  while (true) {
    std::array<std::int64_t, N> inner = offsets;
    for (std::int64_t i = 0; i < shape[last]; ++i) {
      visit(position++, inner);
      for (std::size_t n = 0; n < N; ++n) inner[n] += strides[n][last];
    }
    std::size_t axis = last;
    while (axis > 0) {
      --axis;
      for (std::size_t n = 0; n < N; ++n) offsets[n] += strides[n][axis];
      if (++coordinate[axis] < shape[axis]) break;
      for (std::size_t n = 0; n < N; ++n) offsets[n] -= strides[n][axis] * shape[axis];
      coordinate[axis] = 0;
      if (axis == 0) return;
    }
    if (last == 0) return;
  }
}

}  // namespace assay::reference
