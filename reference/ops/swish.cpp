#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Swish-24: x * sigmoid(alpha * x).
Result<std::vector<Tensor>> run_swish(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", 1.0);
  return map_reals(call, [alpha](double x) { return x / (1.0 + std::exp(-alpha * x)); });
}

}  // namespace

const OpDef& op_swish() {
  static const OpDef def{.name = "Swish", .first_opset = 24, .run = &run_swish, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
