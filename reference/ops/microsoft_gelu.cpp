#include <cmath>
#include <numbers>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX Runtime's Gelu-1 (docs/ContribOperators.md), older than ONNX's: x / 2 * (1 + erf(x / √2)).
Result<std::vector<Tensor>> run_microsoft_gelu(const OpCall& call) {
  return map_reals(call, [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2)); });
}

}  // namespace

const OpDef& op_microsoft_gelu() {
  static const OpDef def{.name = "Gelu",
                         .last_opset = 1,
                         .run = &run_microsoft_gelu,
                         .infer = &infer_same_real,
                         .domain = "com.microsoft"};
  return def;
}

}  // namespace assay::reference
