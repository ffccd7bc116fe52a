#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Ceil-13.
Result<std::vector<Tensor>> run_ceil(const OpCall& call) {
  return map_reals(call, [](double x) { return std::ceil(x); });
}

}  // namespace

const OpDef& op_ceil() {
  static const OpDef def{.name = "Ceil", .first_opset = 6, .run = &run_ceil, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
