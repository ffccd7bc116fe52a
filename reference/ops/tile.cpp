#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

// ONNX Tile-13: repeats[i] copies along axis i.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto repeats = integer_list(call, 1);
  if (!repeats) return repeats.error();
  if (repeats->size() != x.shape().size()) {
    return op_error(fmt::format("repeats {} do not name every axis of {}", core::shape_text(*repeats), tensor_text(x)));
  }
  // The repeats are bounded first, so that their products with the extents can't overflow.
  if (const auto count = checked_count(*repeats); !count) return count.error();
  Shape shape = x.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) shape[axis] *= (*repeats)[axis];
  if (const auto count = checked_count(shape); !count) return count.error();
  AxisMap map = AxisMap::identity(x.shape());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::vector<std::int64_t> once = map.axes[axis];
    std::vector<std::int64_t>& table = map.axes[axis];
    table.clear();
    for (std::int64_t i = 0; i < (*repeats)[axis]; ++i) table.insert(table.end(), once.begin(), once.end());
  }
  return single_output(take(x, map));
}

}  // namespace

const OpDef& op_tile() {
  static const OpDef def{.name = "Tile", .first_opset = 6, .min_inputs = 2, .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
