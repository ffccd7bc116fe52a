#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Exp-13.
Result<std::vector<Tensor>> run_exp(const OpCall& call) {
  return map_reals(call, [](double x) { return std::exp(x); });
}

}  // namespace

const OpDef& op_exp() {
  static const OpDef def{.name = "Exp", .first_opset = 6, .run = &run_exp, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
