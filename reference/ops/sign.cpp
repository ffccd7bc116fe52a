#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sign-13: -1, 0 or 1. NaN stays NaN.
Result<std::vector<Tensor>> run_sign(const OpCall& call) {
  return map_numbers(call, [](auto x) { return x > 0 ? decltype(x){1} : x < 0 ? decltype(x){-1} : x; });
}

}  // namespace

const OpDef& op_sign() {
  static const OpDef def{.name = "Sign", .first_opset = 9, .run = &run_sign, .infer = &infer_same};
  return def;
}

}  // namespace assay::reference
