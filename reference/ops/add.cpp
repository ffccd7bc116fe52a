#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Add-14: integers wrap around in their type.
Result<std::vector<Tensor>> run_add(const OpCall& call) {
  return binary(call, [](auto a, auto b) { return plus(a, b); });
}

}  // namespace

const OpDef& op_add() {
  static const OpDef def{.name = "Add",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_add,
                         .infer = &infer_binary,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
