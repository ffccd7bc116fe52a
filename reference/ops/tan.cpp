#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Tan-7.
Result<std::vector<Tensor>> run_tan(const OpCall& call) {
  return map_reals(call, [](double x) { return std::tan(x); });
}

}  // namespace

const OpDef& op_tan() {
  static const OpDef def{.name = "Tan", .first_opset = 7, .run = &run_tan, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
