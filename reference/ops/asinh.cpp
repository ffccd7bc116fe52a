#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Asinh-9.
Result<std::vector<Tensor>> run_asinh(const OpCall& call) {
  return map_reals(call, [](double x) { return std::asinh(x); });
}

}  // namespace

const OpDef& op_asinh() {
  static const OpDef def{.name = "Asinh", .first_opset = 9, .run = &run_asinh, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
