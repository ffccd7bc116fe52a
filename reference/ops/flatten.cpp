#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Flatten-13: a matrix of the extents before axis by those from it on.
Result<Facts> infer_flatten(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  if (!x.shape) return one(x.type, unknown_dims(2));
  std::int64_t axis = call.node.int_or("axis", 1);
  if (axis < -*x.rank() || axis > *x.rank()) {
    return op_error(fmt::format("axis {} is outside [{}, {}]", axis, -*x.rank(), *x.rank()));
  }
  if (axis < 0) axis += *x.rank();
  const std::span<const Dimension> extents(*x.shape);
  return one(x.type, Dims{product(extents.first(at(axis))), product(extents.subspan(at(axis)))});
}

Result<std::vector<Tensor>> run_flatten(const OpCall& call) {
  const auto shape = ruled_shape(call, &infer_flatten);
  if (!shape) return shape.error();
  return single_output(call.in(0).reshaped(*shape));
}

}  // namespace

const OpDef& op_flatten() {
  static const OpDef def{.name = "Flatten", .run = &run_flatten, .infer = &infer_flatten};
  return def;
}

}  // namespace assay::reference
