#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sum-13.
Result<std::vector<Tensor>> run_sum(const OpCall& call) {
  return variadic(call, [](auto a, auto b) { return plus(a, b); });
}

}  // namespace

const OpDef& op_sum() {
  static const OpDef def{
      .name = "Sum", .first_opset = 6, .max_inputs = kAnyNumber, .run = &run_sum, .infer = &infer_variadic};
  return def;
}

}  // namespace assay::reference
