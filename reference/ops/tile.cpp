#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Tile-13: repeats[i] copies along axis i.
Result<Facts> infer_tile(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto repeats = extents_argument(call, 1);
  if (!repeats) return repeats.error();
  if (!x.shape) return one(x.type, *repeats ? std::optional(unknown_dims((*repeats)->size())) : std::nullopt);
  if (!*repeats) return one(x.type, unknown_dims(x.shape->size()));
  if ((*repeats)->size() != x.shape->size()) {
    return op_error(fmt::format("repeats {} do not name every axis of {}", dims_text(**repeats), facts_text(x)));
  }
  Dims shape;
  for (std::size_t axis = 0; axis < x.shape->size(); ++axis) {
    const std::array factors{(*x.shape)[axis], (**repeats)[axis]};
    shape.push_back(product(factors));
  }
  return one(x.type, std::move(shape));
}

Result<std::vector<Tensor>> run_tile(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto repeats = integer_list(call, 1);
  if (!repeats) return repeats.error();
  const auto shape = ruled_shape(call, &infer_tile);
  if (!shape) return shape.error();
  AxisMap map = AxisMap::identity(x.shape());
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    const std::vector<std::int64_t> once = map.axes[axis];
    std::vector<std::int64_t>& table = map.axes[axis];
    table.clear();
    for (std::int64_t i = 0; i < (*repeats)[axis]; ++i) table.insert(table.end(), once.begin(), once.end());
  }
  return single_output(take(x, map));
}

}  // namespace

const OpDef& op_tile() {
  static const OpDef def{.name = "Tile",
                         .first_opset = 6,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_tile,
                         .infer = &infer_tile,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
