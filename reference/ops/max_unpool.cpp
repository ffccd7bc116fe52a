#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// The extent that a MaxPool with these attributes came from, axis by axis: stride * (in - 1) + kernel - pads.
Result<Shape> unpooled_shape(const Node& node, const Shape& x) {
  const std::size_t axes = x.size() < 3 ? 0 : x.size() - 2;
  const std::vector<std::int64_t> kernel = node.ints_or("kernel_shape");
  const auto strides = node.ints_or("strides", std::vector<std::int64_t>(axes, 1));
  const auto pads = node.ints_or("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (axes == 0 || kernel.size() != axes || strides.size() != axes || pads.size() != 2 * axes) {
    return op_error(fmt::format("{} with kernel_shape {}, strides {}, pads {}", core::shape_text(x),
                                core::shape_text(kernel), core::shape_text(strides), core::shape_text(pads)));
  }
  Shape shape(x.begin(), x.begin() + 2);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const bool sane = strides[axis] >= 1 && strides[axis] <= kElementLimit && kernel[axis] >= 1 &&
                      kernel[axis] <= kElementLimit && pads[axis] >= 0 && pads[axes + axis] >= 0;
    if (!sane) return op_error("kernel_shape and strides must be at least 1, pads at least 0");
    shape.push_back((x[2 + axis] - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axes + axis]);
  }
  return shape;
}

// ONNX MaxUnpool-22: x at the places in a plane of zeros that MaxPool's indices (input 1) name. The indices count in
// the tensor that the attributes give; with output_shape (input 2) that tensor stands in the first corner of one of
// zeros, as ONNX's node case has it (the text does not say).
Result<std::vector<Tensor>> run_max_unpool(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  const Tensor& x = call.in(0);
  const Tensor& indices = call.in(1);
  if (indices.shape() != x.shape()) {
    return op_error(fmt::format("X is {}, I {}", tensor_text(x), tensor_text(indices)));
  }
  const auto inner = unpooled_shape(call.node, x.shape());
  if (!inner) return inner.error();
  Shape shape = *inner;
  if (call.has_input(2)) {
    auto wanted = integer_list(call, 2);
    if (!wanted) return wanted.error();
    shape = std::move(*wanted);
  }
  const auto count = checked_count(*inner);
  if (!count) return count.error();
  const auto total = checked_count(shape);
  if (!total) return total.error();
  bool fits = shape.size() == inner->size();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) fits = shape[axis] >= (*inner)[axis];
  if (!fits) {
    return op_error(fmt::format("output_shape {} is smaller than the unpooled {}", core::shape_text(shape),
                                core::shape_text(*inner)));
  }
  const std::vector<std::int64_t> from = row_major_strides(*inner);
  const std::vector<std::int64_t> to = row_major_strides(shape);
  std::vector<double> y(at(*total), 0.0);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t index = indices.integers()[at(i)];
    if (index < 0 || index >= *count)
      return op_error(fmt::format("index {} is outside of {}", index, core::shape_text(*inner)));
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) position += index / from[axis] % (*inner)[axis] * to[axis];
    y[at(position)] = x.reals()[at(i)];
  }
  return single_output(Tensor(x.type(), shape, std::move(y)));
}

Result<Facts> infer_max_unpool(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  if (call.has_input(2)) {
    const auto extents = extents_argument(call, 2);
    if (!extents) return extents.error();
    return one(x.type, *extents ? *extents : x.shape ? std::optional(unknown_dims(x.shape->size())) : std::nullopt);
  }
  if (!x.shape) return one(x.type, std::nullopt);
  // What is not known of X is computed as 1 and forgotten again.
  Shape extents;
  for (const Dimension& extent : *x.shape) extents.push_back(extent.value.value_or(1));
  const auto unpooled = unpooled_shape(call.node, extents);
  if (!unpooled) return unpooled.error();
  Dims shape = dims_of(*unpooled);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!(*x.shape)[axis].value) shape[axis] = axis < 2 ? (*x.shape)[axis] : Dimension();
  }
  return one(x.type, std::move(shape));
}

}  // namespace

const OpDef& op_max_unpool() {
  static const OpDef def{.name = "MaxUnpool",
                         .first_opset = 9,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_max_unpool,
                         .infer = &infer_max_unpool};
  return def;
}

}  // namespace assay::reference
