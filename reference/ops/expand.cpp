#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/broadcast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<Facts> infer_expand(const ShapeCall& call) {
  const auto wanted = extents_argument(call, 1);
  if (!wanted) return wanted.error();
  auto shape = broadcast_known(call.in(0).shape, *wanted);
  if (!shape) return shape.error();
  return one(call.in(0).type, std::move(*shape));
}

// ONNX Expand-13: the shape to which the data's and the wanted one broadcast; the data's extents may be the larger.
Result<std::vector<Tensor>> run_expand(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto shape = ruled_shape(call, &infer_expand);
  if (!shape) return shape.error();
  const std::vector<std::int64_t> strides = broadcast_strides(x.shape(), *shape);
  AxisMap map;
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    std::vector<std::int64_t>& table = map.axes.emplace_back(at((*shape)[axis]));
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int64_t>(i) * strides[axis];
  }
  return single_output(take(x, map));
}

}  // namespace

const OpDef& op_expand() {
  static const OpDef def{.name = "Expand",
                         .first_opset = 8,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_expand,
                         .infer = &infer_expand,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
