#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX IsInf-10.
Result<std::vector<Tensor>> run_is_inf(const OpCall& call) {
  const bool negative = call.node.int_or("detect_negative", 1) != 0;
  const bool positive = call.node.int_or("detect_positive", 1) != 0;
  return map_to_boolean(call, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

}  // namespace

const OpDef& op_is_inf() {
  static const OpDef def{.name = "IsInf", .first_opset = 10, .run = &run_is_inf, .infer = &infer_real_to_boolean};
  return def;
}

}  // namespace assay::reference
