#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Neg-13: the lowest integer is its own negative.
Result<std::vector<Tensor>> run_neg(const OpCall& call) {
  return map_numbers(call, [](auto x) { return minus(decltype(x){0}, x); });
}

}  // namespace

const OpDef& op_neg() {
  static const OpDef def{
      .name = "Neg", .first_opset = 6, .run = &run_neg, .infer = &infer_same, .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
