#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Acos-7.
Result<std::vector<Tensor>> run_acos(const OpCall& call) {
  return map_reals(call, [](double x) { return std::acos(x); });
}

}  // namespace

const OpDef& op_acos() {
  static const OpDef def{.name = "Acos", .first_opset = 7, .run = &run_acos, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
