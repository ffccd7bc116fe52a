#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Cosh-9.
Result<std::vector<Tensor>> run_cosh(const OpCall& call) {
  return map_reals(call, [](double x) { return std::cosh(x); });
}

}  // namespace

const OpDef& op_cosh() {
  static const OpDef def{.name = "Cosh", .first_opset = 9, .run = &run_cosh, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
