#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Squeeze-13: drops the named axes, or all of extent 1. axes is an attribute before opset 13, an input since.
Result<Facts> infer_squeeze(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto named = list_argument(call, "axes", 1);
  if (!named) return named.error();
  if (!x.shape) return one(x.type, std::nullopt);
  const auto list = named->all();
  if (named->given && !list) {  // some axes of some number
    const bool counted = named->elements && named->elements->size() <= x.shape->size();
    return one(x.type, counted ? std::optional(unknown_dims(x.shape->size() - named->elements->size())) : std::nullopt);
  }
  std::vector<std::int64_t> dropped;
  if (list) {
    auto axes = checked_axes(*list, *x.rank());
    if (!axes) return axes.error();
    dropped = std::move(*axes);
  } else if (!sizes(*x.shape)) {
    return one(x.type, std::nullopt);
  }
  Dims shape;
  for (std::int64_t axis = 0; axis < *x.rank(); ++axis) {
    const Dimension& extent = (*x.shape)[at(axis)];
    const bool drop = list ? std::ranges::find(dropped, axis) != dropped.end() : extent.value == 1;
    if (!drop) {
      shape.push_back(extent);
    } else if (!may_equal(extent, known(1))) {
      return op_error(fmt::format("axis {} of {} can't be dropped, its extent is not 1", axis, facts_text(x)));
    }
  }
  return one(x.type, std::move(shape));
}

Result<std::vector<Tensor>> run_squeeze(const OpCall& call) {
  const auto shape = ruled_shape(call, &infer_squeeze);
  if (!shape) return shape.error();
  return single_output(call.in(0).reshaped(*shape));
}

}  // namespace

const OpDef& op_squeeze() {
  static const OpDef def{
      .name = "Squeeze", .max_inputs = 2, .run = &run_squeeze, .infer = &infer_squeeze, .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
