#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sin-7.
Result<std::vector<Tensor>> run_sin(const OpCall& call) {
  return map_reals(call, [](double x) { return std::sin(x); });
}

}  // namespace

const OpDef& op_sin() {
  static const OpDef def{.name = "Sin", .first_opset = 7, .run = &run_sin, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
