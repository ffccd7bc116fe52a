#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Min-13: NaN where any input is NaN.
Result<std::vector<Tensor>> run_min(const OpCall& call) {
  return variadic(call, [](auto a, auto b) { return lesser(a, b); });
}

}  // namespace

const OpDef& op_min() {
  static const OpDef def{.name = "Min",
                         .first_opset = 6,
                         .max_inputs = kAnyNumber,
                         .run = &run_min,
                         .infer = &infer_variadic,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
