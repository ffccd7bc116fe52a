#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Or-7.
Result<std::vector<Tensor>> run_or(const OpCall& call) {
  return logical(call, [](auto a, auto b) { return a != 0 || b != 0; });
}

}  // namespace

const OpDef& op_or() {
  static const OpDef def{.name = "Or",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_or,
                         .infer = &infer_logical,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
