#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sub-14: integers wrap around in their type.
Result<std::vector<Tensor>> run_sub(const OpCall& call) {
  return binary(call, [](auto a, auto b) { return minus(a, b); });
}

}  // namespace

const OpDef& op_sub() {
  static const OpDef def{.name = "Sub",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_sub,
                         .infer = &infer_binary,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
