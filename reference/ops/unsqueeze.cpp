#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Unsqueeze-13: axes count in the result. An attribute before opset 13, an input since.
Result<Facts> infer_unsqueeze(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto named = list_argument(call, "axes", 1);
  if (!named) return named.error();
  if (!named->given) return op_error("axes are missing");
  if (!x.shape || !named->elements) return one(x.type, std::nullopt);
  const std::size_t rank = x.shape->size() + named->elements->size();
  const auto list = named->all();
  if (!list) return one(x.type, unknown_dims(rank));
  const auto axes = checked_axes(*list, static_cast<std::int64_t>(rank));
  if (!axes) return axes.error();
  Dims shape;
  auto next = x.shape->begin();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool added = std::ranges::find(*axes, static_cast<std::int64_t>(axis)) != axes->end();
    shape.push_back(added ? known(1) : *next++);
  }
  return one(x.type, std::move(shape));
}

Result<std::vector<Tensor>> run_unsqueeze(const OpCall& call) {
  const auto shape = ruled_shape(call, &infer_unsqueeze);
  if (!shape) return shape.error();
  return single_output(call.in(0).reshaped(*shape));
}

}  // namespace

const OpDef& op_unsqueeze() {
  static const OpDef def{.name = "Unsqueeze",
                         .max_inputs = 2,
                         .run = &run_unsqueeze,
                         .infer = &infer_unsqueeze,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
