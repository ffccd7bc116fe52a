#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX LessOrEqual-12.
Result<std::vector<Tensor>> run_less_or_equal(const OpCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}

}  // namespace

const OpDef& op_less_or_equal() {
  static const OpDef def{.name = "LessOrEqual",
                         .first_opset = 12,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_less_or_equal,
                         .infer = &infer_compare,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
