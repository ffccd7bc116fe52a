#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Selu-6: gamma * (alpha * exp(x) - alpha) up to zero, gamma * x above. The defaults are its text's.
Result<std::vector<Tensor>> run_selu(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", 1.67326319217681884765625);
  const double gamma = call.node.float_or("gamma", 1.05070102214813232421875);
  return map_reals(call, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

}  // namespace

const OpDef& op_selu() {
  static const OpDef def{.name = "Selu", .first_opset = 6, .run = &run_selu, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
