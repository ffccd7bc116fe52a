#pragma once

#include <cstdint>
#include <functional>

#include "reference/windows.hpp"

namespace assay::reference {

/// The part of one window that lies inside the input.
struct WindowView {
  Extents first{};               ///< first tap inside, along each axis
  Extents last{};                ///< one past the last tap inside
  Extents origin{};              ///< input position of tap 0, may be negative
  std::int64_t padded_taps = 0;  ///< taps that lie inside the input or its explicit padding
};

/// Windows of a pool over x of [N, C, spatial…], from kernel_shape and the other attributes of `node`.
[[nodiscard]] Result<Windows> pool_windows(const OpCall& call);

/// Calls `visit(output position, window)` for each window of one plane, in row-major order.
void for_each_window(const Windows& windows, const std::function<void(std::int64_t, const WindowView&)>& visit);

/// Calls `visit(offset inside the plane)` for each element of `window`, in row-major order.
template <typename Visit>
void for_each_element(const Windows& windows, const WindowView& window, const Visit& visit) {
  for (std::int64_t z = window.first[0]; z < window.last[0]; ++z) {
    const std::int64_t plane = (window.origin[0] + z * windows.dilation[0]) * windows.input[1];
    for (std::int64_t y = window.first[1]; y < window.last[1]; ++y) {
      const std::int64_t line = (plane + window.origin[1] + y * windows.dilation[1]) * windows.input[2];
      for (std::int64_t x = window.first[2]; x < window.last[2]; ++x) {
        visit(line + window.origin[2] + x * windows.dilation[2]);
      }
    }
  }
}

/// Number of elements of x in each channel, and the shape [N, C, 1, …] of a global pool's output.
/// Errors   a rank below 3 (no spatial axis) or an empty plane.
struct GlobalPool {
  std::int64_t planes = 0;
  std::int64_t plane_size = 0;
  Shape output;
};
[[nodiscard]] Result<GlobalPool> global_pool(const OpCall& call);

}  // namespace assay::reference
