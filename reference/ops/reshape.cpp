#include <fmt/format.h>

#include <optional>

#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

core::Error does_not_fit(const Tensor& x, const Shape& target) {
  return op_error(fmt::format("{} can't be given the shape {}", tensor_text(x), core::shape_text(target)));
}

// ONNX Reshape-19: 0 keeps the data's extent (unless allowzero), one -1 takes what is left.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto target = integer_list(call, 1);
  if (!target) return target.error();
  const bool keep_zero = call.node.int_or("allowzero", 0) == 0;
  Shape shape = *target;
  std::optional<std::size_t> open;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0 && keep_zero) {
      if (axis >= x.shape().size()) return does_not_fit(x, *target);
      shape[axis] = x.shape()[axis];
    } else if (shape[axis] == -1) {
      if (open) return op_error(fmt::format("shape {} has more than one -1", core::shape_text(*target)));
      open = axis;
      shape[axis] = 1;
    }
  }
  const auto count = checked_count(shape);
  if (!count) return count.error();
  if (open) {
    // Beside a zero extent nothing tells what -1 stands for.
    if (*count == 0 || x.size() % *count != 0) return does_not_fit(x, *target);
    shape[*open] = x.size() / *count;
  } else if (*count != x.size()) {
    return does_not_fit(x, *target);
  }
  return single_output(x.reshaped(shape));
}

}  // namespace

const OpDef& op_reshape() {
  static const OpDef def{.name = "Reshape", .first_opset = 5, .min_inputs = 2, .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
