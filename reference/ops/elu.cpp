#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Elu-6: alpha * (exp(x) - 1) below zero.
Result<std::vector<Tensor>> run_elu(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", 1.0);
  return map_reals(call, [alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

}  // namespace

const OpDef& op_elu() {
  static const OpDef def{.name = "Elu", .first_opset = 6, .run = &run_elu, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
