#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Atan-7.
Result<std::vector<Tensor>> run_atan(const OpCall& call) {
  return map_reals(call, [](double x) { return std::atan(x); });
}

}  // namespace

const OpDef& op_atan() {
  static const OpDef def{.name = "Atan", .first_opset = 7, .run = &run_atan, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
