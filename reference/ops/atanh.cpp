#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Atanh-9.
Result<std::vector<Tensor>> run_atanh(const OpCall& call) {
  return map_reals(call, [](double x) { return std::atanh(x); });
}

}  // namespace

const OpDef& op_atanh() {
  static const OpDef def{.name = "Atanh", .first_opset = 9, .run = &run_atanh, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
