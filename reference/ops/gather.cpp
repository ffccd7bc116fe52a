#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<Facts> infer_gather(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto& indices = call.in(1).shape;
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  const auto axis = axis_argument(call, "axis", 0);
  if (!axis) return axis.error();
  if (!x.shape || !indices) return one(x.type, std::nullopt);
  Dims shape(x.shape->begin(), x.shape->begin() + **axis);
  shape.insert(shape.end(), indices->begin(), indices->end());
  shape.insert(shape.end(), x.shape->begin() + **axis + 1, x.shape->end());
  return one(x.type, std::move(shape));
}

// ONNX Gather-13: the data with `axis` replaced by the axes of indices. Negative indices count from the end.
Result<std::vector<Tensor>> run_gather(const OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& indices = call.in(1);
  const auto shape = ruled_shape(call, &infer_gather);
  if (!shape) return shape.error();
  const auto axis = checked_axis(call.node.int_or("axis", 0), x.rank());
  if (!axis) return axis.error();
  const std::int64_t extent = x.shape()[at(*axis)];
  AxisMap map = AxisMap::identity(x.shape());
  std::vector<std::int64_t> table;
  for (const std::int64_t index : indices.integers()) {
    if (index < -extent || index >= extent) {
      return op_error(
          fmt::format("index {} is outside of extent {} of axis {} of {}", index, extent, *axis, tensor_text(x)));
    }
    table.push_back(map.axes[at(*axis)][at(index < 0 ? index + extent : index)]);
  }
  map.axes[at(*axis)] = std::move(table);
  auto taken = take(x, map);
  if (!taken) return taken.error();
  return single_output(std::move(*taken).reshaped(*shape));
}

}  // namespace

const OpDef& op_gather() {
  static const OpDef def{.name = "Gather",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_gather,
                         .infer = &infer_gather,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
