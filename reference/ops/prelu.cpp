#include <fmt/format.h>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX PRelu-16: slope * x below zero, x elsewhere. Only the slope is stretched.
Result<std::vector<Tensor>> run_prelu(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto shape = broadcast_shape(x.shape(), call.in(1).shape());
  if (!shape) return shape.error();
  if (*shape != x.shape()) {
    return op_error(fmt::format("slope {} does not broadcast to {}", tensor_text(call.in(1)), tensor_text(x)));
  }
  return binary(call, [](auto value, auto slope) { return value < 0 ? times(slope, value) : value; });
}

Result<Facts> infer_prelu(const ShapeCall& call) {
  if (const auto same = require_same_type(call, 0, 1); !same) return same.error();
  if (const auto fits = require_broadcast_to(call, 1, call.in(0).shape); !fits) return fits.error();
  return infer_same(call);
}

}  // namespace

const OpDef& op_prelu() {
  static const OpDef def{
      .name = "PRelu", .first_opset = 7, .min_inputs = 2, .max_inputs = 2, .run = &run_prelu, .infer = &infer_prelu};
  return def;
}

}  // namespace assay::reference
