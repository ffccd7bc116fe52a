#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

// ONNX Squeeze-13: drops the named axes, or all of extent 1. axes is an attribute before opset 13, an input since.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto named = list_argument(call, "axes", 1);
  if (!named) return named.error();
  std::vector<std::int64_t> dropped;
  if (*named) {
    auto axes = checked_axes(**named, x.rank());
    if (!axes) return axes.error();
    dropped = std::move(*axes);
  }
  Shape shape;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t extent = x.shape()[at(axis)];
    const bool drop = *named ? std::ranges::find(dropped, axis) != dropped.end() : extent == 1;
    if (!drop) {
      shape.push_back(extent);
    } else if (extent != 1) {
      return op_error(fmt::format("axis {} of {} can't be dropped, its extent is not 1", axis, tensor_text(x)));
    }
  }
  return single_output(x.reshaped(shape));
}

}  // namespace

const OpDef& op_squeeze() {
  static const OpDef def{.name = "Squeeze", .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
