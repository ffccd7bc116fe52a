#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sqrt-13: NaN below zero.
Result<std::vector<Tensor>> run_sqrt(const OpCall& call) {
  return map_reals(call, [](double x) { return std::sqrt(x); });
}

}  // namespace

const OpDef& op_sqrt() {
  static const OpDef def{.name = "Sqrt", .first_opset = 6, .run = &run_sqrt, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
