#include "reference/pooling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/op_checks.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

Result<Windows> pool_windows(const OpCall& call) {
  const Shape& shape = call.in(0).shape();
  if (const core::Status status = require_spatial_axes(call); !status) {
    return status.error();
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

Result<Facts> infer_pool(const ShapeCall& call) {
  if (const core::Status status = require_spatial_axes(call); !status) {
    return status.error();
  }
  if (!call.node.has("kernel_shape")) {
    return op_error("attribute kernel_shape is missing");
  }
  const TensorFacts& x = call.in(0);
  const Shape kernel = call.node.ints_or("kernel_shape");
  if (!x.shape) {
    return one(x.type, unknown_dims(kernel.size() + 2));
  }
  const auto pooled =
      output_extents(std::span(*x.shape).subspan(2), dims_of(kernel), [&](const Shape& in, const Shape& taps) {
        return sliding_windows(call.node, in, taps, call.node.int_or("ceil_mode", 0) != 0);
      });
  if (!pooled) {
    return pooled.error();
  }
  Dims shape{(*x.shape)[0], (*x.shape)[1]};
  shape.insert(shape.end(), pooled->begin(), pooled->end());
  return one(x.type, std::move(shape));
}

Result<Facts> infer_global_pool(const ShapeCall& call) {
  core::Status status = require_real(call, 0);
  status = status ? require_spatial_axes(call) : status;
  if (!status) {
    return status.error();
  }
  std::optional<Dims> shape = call.in(0).shape;
  if (shape) {
    std::fill(shape->begin() + 2, shape->end(), known(1));
  }
  return one(call.in(0).type, std::move(shape));
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

Result<std::vector<Tensor>> run_global_pool(const OpCall& call, double (*pooled)(std::span<const double>)) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  if (const core::Status status = require_spatial_axes(call); !status) {
    return status.error();
  }
  const AxisSplit split = split_at_axis(x.shape(), 1);
  const std::int64_t planes = split.outer * split.extent;
  if (split.inner == 0 && planes != 0) {
    return op_error(
        fmt::format("{} has shape {}, which leaves nothing to pool", input_text(call, 0), core::shape_text(x.shape())));
  }
  std::vector<double> y;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    y.push_back(pooled(x.reals().subspan(at(plane * split.inner), at(split.inner))));
  }
  Shape shape(x.shape().size(), 1);
  std::copy_n(x.shape().begin(), 2, shape.begin());
  return std::vector{Tensor(x.type(), shape, std::move(y))};
}

}  // namespace assay::reference
