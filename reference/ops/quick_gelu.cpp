#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX Runtime's QuickGelu-1 (docs/ContribOperators.md): x * sigmoid(alpha * x).
Result<std::vector<Tensor>> run_quick_gelu(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", static_cast<double>(1.702F));
  return map_reals(call, [alpha](double x) { return x / (1.0 + std::exp(-alpha * x)); });
}

}  // namespace

const OpDef& op_quick_gelu() {
  static const OpDef def{.name = "QuickGelu",
                         .last_opset = 1,
                         .run = &run_quick_gelu,
                         .infer = &infer_same_real,
                         .domain = "com.microsoft"};
  return def;
}

}  // namespace assay::reference
