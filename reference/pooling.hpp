#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/op_checks.hpp"
#include "reference/windows.hpp"

namespace assay::reference {

/// Windows of a pool over x of [N, C, spatial…], from kernel_shape and the other attributes of `node`.
[[nodiscard]] Result<Windows> pool_windows(const OpCall& call);

/// The pooled x, of its type.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_pool(const ShapeCall& call);
/// [N, C, 1, …] of the type of x, which is real.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_global_pool(const ShapeCall& call);

/// The part of a window that lies inside the input, along one axis.
struct AxisView {
  std::int64_t origin = 0;       ///< input position of tap 0, may be negative
  std::int64_t first = 0;        ///< first tap inside
  std::int64_t last = 0;         ///< one past the last tap inside
  std::int64_t padded_taps = 0;  ///< taps that lie inside the input or its explicit padding
};
using WindowView = std::array<AxisView, kSpatialAxes>;

/// The views of each output position, axis by axis.
[[nodiscard]] std::array<std::vector<AxisView>, kSpatialAxes> axis_views(const Windows& windows);

/// Calls `visit(output position, window)` for each window of one plane, in row-major order.
template <typename Visit>
void for_each_window(const std::array<std::vector<AxisView>, kSpatialAxes>& views, const Visit& visit) {
  std::int64_t position = 0;
  for (const AxisView& z : views[0]) {
    for (const AxisView& y : views[1]) {
      for (const AxisView& x : views[2]) {
        visit(position++, WindowView{z, y, x});
      }
    }
  }
}

/// Calls `visit(offset inside the plane)` for each element of `window`, in row-major order.
template <typename Visit>
void for_each_element(const Windows& windows, const WindowView& window, const Visit& visit) {
  const auto& [depth, height, width] = window;
  for (std::int64_t z = depth.first; z < depth.last; ++z) {
    const std::int64_t plane = (depth.origin + z * windows.dilation[0]) * windows.input[1];
    for (std::int64_t y = height.first; y < height.last; ++y) {
      const std::int64_t line = (plane + height.origin + y * windows.dilation[1]) * windows.input[2];
      for (std::int64_t x = width.first; x < width.last; ++x) {
        visit(line + width.origin + x * windows.dilation[2]);
      }
    }
  }
}

/// The whole of a pool of reals: `pooled(plane, windows, window)` of each window of each channel's plane of x.
/// Errors   x of another type; those of pool_windows.
template <typename Pooled>
[[nodiscard]] Result<std::vector<Tensor>> run_real_pool(const OpCall& call, const Pooled& pooled) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<Windows> windows = pool_windows(call);
  if (!windows) {
    return windows.error();
  }
  const std::int64_t planes = x.shape()[0] * x.shape()[1];
  std::vector<double> y;
  y.reserve(at(planes * volume(windows->output)));
  const auto views = axis_views(*windows);
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const double* in = x.reals().data() + plane * volume(windows->input);
    for_each_window(
        views, [&](std::int64_t /*position*/, const WindowView& window) { y.push_back(pooled(in, *windows, window)); });
  }
  return std::vector{Tensor(x.type(), windows->output_shape(x.shape()[0], x.shape()[1]), std::move(y))};
}

/// The whole of a global pool: `pooled` of each channel's plane of x [N, C, spatial…], as [N, C, 1, …].
/// Errors   a rank below 3 (no spatial axis), an empty plane.
[[nodiscard]] Result<std::vector<Tensor>> run_global_pool(const OpCall& call,
                                                          double (*pooled)(std::span<const double>));

}  // namespace assay::reference
