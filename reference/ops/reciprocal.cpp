#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Reciprocal-13.
Result<std::vector<Tensor>> run_reciprocal(const OpCall& call) {
  return map_reals(call, [](double x) { return 1.0 / x; });
}

}  // namespace

const OpDef& op_reciprocal() {
  static const OpDef def{.name = "Reciprocal", .first_opset = 6, .run = &run_reciprocal, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
