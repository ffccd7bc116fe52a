#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX HardSwish-14: x * max(0, min(1, x / 6 + 0.5)).
Result<std::vector<Tensor>> run_hard_swish(const OpCall& call) {
  return map_reals(call, [](double x) { return x * larger(0.0, lesser(1.0, x / 6.0 + 0.5)); });
}

}  // namespace

const OpDef& op_hard_swish() {
  static const OpDef def{.name = "HardSwish", .first_opset = 14, .run = &run_hard_swish, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
