#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Mish-18: x * tanh(softplus(x)).
Result<std::vector<Tensor>> run_mish(const OpCall& call) {
  return map_reals(call, [](double x) { return x * std::tanh(larger(x, 0.0) + std::log1p(std::exp(-std::abs(x)))); });
}

}  // namespace

const OpDef& op_mish() {
  static const OpDef def{.name = "Mish", .first_opset = 18, .run = &run_mish, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
