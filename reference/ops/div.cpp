#include <algorithm>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Div-14: the quotient of integers is truncated.
Result<std::vector<Tensor>> run_div(const OpCall& call) {
  const Tensor& divisor = call.in(1);
  if (core::is_integer(divisor.type()) && std::ranges::find(divisor.integers(), 0) != divisor.integers().end()) {
    return op_error(input_text(call, 1) + " divides integers and has a zero");
  }
  return binary(call, [](auto a, auto b) { return quotient(a, b); });
}

}  // namespace

const OpDef& op_div() {
  static const OpDef def{.name = "Div",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_div,
                         .infer = &infer_binary,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
