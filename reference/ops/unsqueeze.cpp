#include <algorithm>

#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

// ONNX Unsqueeze-13: axes count in the result. An attribute before opset 13, an input since.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto named = list_argument(call, "axes", 1);
  if (!named) return named.error();
  if (!*named) return op_error("axes are missing");
  const std::int64_t rank = x.rank() + static_cast<std::int64_t>((*named)->size());
  const auto axes = checked_axes(**named, rank);
  if (!axes) return axes.error();
  Shape shape;
  auto next = x.shape().begin();
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const bool added = std::ranges::find(*axes, axis) != axes->end();
    shape.push_back(added ? 1 : *next++);
  }
  return single_output(x.reshaped(shape));
}

}  // namespace

const OpDef& op_unsqueeze() {
  static const OpDef def{.name = "Unsqueeze", .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
