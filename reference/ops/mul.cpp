#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Mul-14: integers wrap around in their type.
Result<std::vector<Tensor>> run_mul(const OpCall& call) {
  return binary(call, [](auto a, auto b) { return times(a, b); });
}

}  // namespace

const OpDef& op_mul() {
  static const OpDef def{.name = "Mul",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_mul,
                         .infer = &infer_binary,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
