#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Cos-7.
Result<std::vector<Tensor>> run_cos(const OpCall& call) {
  return map_reals(call, [](double x) { return std::cos(x); });
}

}  // namespace

const OpDef& op_cos() {
  static const OpDef def{.name = "Cos", .first_opset = 7, .run = &run_cos, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
