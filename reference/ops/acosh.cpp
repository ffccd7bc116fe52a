#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Acosh-9.
Result<std::vector<Tensor>> run_acosh(const OpCall& call) {
  return map_reals(call, [](double x) { return std::acosh(x); });
}

}  // namespace

const OpDef& op_acosh() {
  static const OpDef def{.name = "Acosh", .first_opset = 9, .run = &run_acosh, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
