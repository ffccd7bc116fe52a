#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX IsNaN-13.
Result<std::vector<Tensor>> run_is_nan(const OpCall& call) {
  return map_to_boolean(call, [](double x) { return std::isnan(x); });
}

}  // namespace

const OpDef& op_is_nan() {
  static const OpDef def{.name = "IsNaN", .first_opset = 9, .run = &run_is_nan, .infer = &infer_real_to_boolean};
  return def;
}

}  // namespace assay::reference
