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

void for_each_window(const Windows& w, const std::function<void(std::int64_t, const WindowView&)>& visit) {
  std::int64_t position = 0;
  WindowView view;
  Extents padded{};
  const auto place = [&](std::size_t axis, std::int64_t output) {
    view.origin[axis] = output * w.stride[axis] - w.pad_begin[axis];
    const Range inside = positions_inside(w.kernel[axis], w.dilation[axis], view.origin[axis], w.input[axis]);
    view.first[axis] = inside.begin;
    view.last[axis] = inside.end;
    const Range with_padding = positions_inside(w.kernel[axis], w.dilation[axis], view.origin[axis] + w.pad_begin[axis],
                                                w.input[axis] + w.pad_begin[axis] + w.pad_end[axis]);
    padded[axis] = with_padding.end - with_padding.begin;
  };
  for (std::int64_t z = 0; z < w.output[0]; ++z) {
    place(0, z);
    for (std::int64_t y = 0; y < w.output[1]; ++y) {
      place(1, y);
      for (std::int64_t x = 0; x < w.output[2]; ++x) {
        place(2, x);
        view.padded_taps = volume(padded);
        visit(position++, view);
      }
    }
  }
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
