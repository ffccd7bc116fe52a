#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Tanh-13.
Result<std::vector<Tensor>> run_tanh(const OpCall& call) {
  return map_reals(call, [](double x) { return std::tanh(x); });
}

}  // namespace

const OpDef& op_tanh() {
  static const OpDef def{.name = "Tanh", .first_opset = 6, .run = &run_tanh, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
