#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sinh-9.
Result<std::vector<Tensor>> run_sinh(const OpCall& call) {
  return map_reals(call, [](double x) { return std::sinh(x); });
}

}  // namespace

const OpDef& op_sinh() {
  static const OpDef def{.name = "Sinh", .first_opset = 9, .run = &run_sinh, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
