#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Max-13: NaN where any input is NaN.
Result<std::vector<Tensor>> run_max(const OpCall& call) {
  return variadic(call, [](auto a, auto b) { return larger(a, b); });
}

}  // namespace

const OpDef& op_max() {
  static const OpDef def{.name = "Max",
                         .first_opset = 6,
                         .max_inputs = kAnyNumber,
                         .run = &run_max,
                         .infer = &infer_variadic,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
