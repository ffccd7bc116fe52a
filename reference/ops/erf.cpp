#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX Erf-13: the error function.
Result<std::vector<Tensor>> run_erf(const OpCall& call) {
  return map_reals(call, [](double x) { return std::erf(x); });
}

}  // namespace

const OpDef& op_erf() {
  static const OpDef def{.name = "Erf", .first_opset = 9, .run = &run_erf, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
