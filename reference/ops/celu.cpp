#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Celu-12: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
Result<std::vector<Tensor>> run_celu(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", 1.0);
  return map_reals(call, [alpha](double x) { return larger(0.0, x) + lesser(0.0, alpha * std::expm1(x / alpha)); });
}

}  // namespace

const OpDef& op_celu() {
  static const OpDef def{.name = "Celu", .first_opset = 12, .run = &run_celu, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
