#include "reference/pooling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/op_checks.hpp"

namespace assay::reference {

Result<Windows> pool_windows(const OpCall& call) {
  const Shape& shape = call.in(0).shape();
  if (shape.size() < 3) {
    return op_error(fmt::format("{} has shape {}, expected a batch, channels and at least one spatial axis",
                                input_text(call, 0), core::shape_text(shape)));
  }
  if (!call.node.has("kernel_shape")) {
    return op_error("attribute kernel_shape is missing");
  }
  Result<Windows> windows = sliding_windows(call.node, std::span(shape).subspan(2), call.node.ints_or("kernel_shape"),
                                            call.node.int_or("ceil_mode", 0) != 0);
  if (windows) {
    if (const auto count = checked_count(windows->output_shape(shape[0], shape[1])); !count) {
      return count.error();
    }
  }
  return windows;
}

std::array<std::vector<AxisView>, kSpatialAxes> axis_views(const Windows& w) {
  std::array<std::vector<AxisView>, kSpatialAxes> views;
  for (std::size_t axis = 0; axis < kSpatialAxes; ++axis) {
    for (std::int64_t output = 0; output < w.output[axis]; ++output) {
      const std::int64_t origin = output * w.stride[axis] - w.pad_begin[axis];
      const Range inside = positions_inside(w.kernel[axis], w.dilation[axis], origin, w.input[axis]);
      const Range with_padding = positions_inside(w.kernel[axis], w.dilation[axis], origin + w.pad_begin[axis],
                                                  w.input[axis] + w.pad_begin[axis] + w.pad_end[axis]);
      views[axis].push_back({.origin = origin,
                             .first = inside.begin,
                             .last = inside.end,
                             .padded_taps = with_padding.end - with_padding.begin});
    }
  }
  return views;
}

Result<GlobalPool> global_pool(const OpCall& call) {
  const Shape& shape = call.in(0).shape();
  if (shape.size() < 3) {
    return op_error(fmt::format("{} has shape {}, expected a batch, channels and at least one spatial axis",
                                input_text(call, 0), core::shape_text(shape)));
  }
  GlobalPool pool;
  pool.planes = shape[0] * shape[1];
  pool.plane_size = core::element_count(std::span(shape).subspan(2));
  pool.output = Shape(shape.size(), 1);
  std::copy_n(shape.begin(), 2, pool.output.begin());
  if (pool.plane_size == 0 && pool.planes != 0) {
    return op_error(
        fmt::format("{} has shape {}, which leaves nothing to pool", input_text(call, 0), core::shape_text(shape)));
  }
  return pool;
}

}  // namespace assay::reference
