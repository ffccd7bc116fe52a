#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX And-7.
Result<std::vector<Tensor>> run_and(const OpCall& call) {
  return logical(call, [](auto a, auto b) { return a != 0 && b != 0; });
}

}  // namespace

const OpDef& op_and() {
  static const OpDef def{.name = "And",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_and,
                         .infer = &infer_logical,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
