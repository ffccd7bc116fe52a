#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

// ONNX Gather-13: the data with `axis` replaced by the axes of indices. Negative indices count from the end.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& indices = call.in(1);
  if (const auto integer = require_integer(call, 1); !integer) return integer.error();
  const auto axis = checked_axis(call.node.int_or("axis", 0), x.rank());
  if (!axis) return axis.error();
  const std::int64_t extent = x.shape()[at(*axis)];
  Shape shape(x.shape().begin(), x.shape().begin() + *axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + *axis + 1, x.shape().end());
  const auto count = checked_count(shape);
  if (!count) return count.error();

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
  return single_output(std::move(*taken).reshaped(shape));
}

}  // namespace

const OpDef& op_gather() {
  static const OpDef def{.name = "Gather", .min_inputs = 2, .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
