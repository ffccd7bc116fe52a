#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Abs-13: the lowest integer is its own absolute value.
Result<std::vector<Tensor>> run_abs(const OpCall& call) {
  return map_numbers(call, [](auto x) { return x < 0 ? minus(decltype(x){0}, x) : x; });
}

}  // namespace

const OpDef& op_abs() {
  static const OpDef def{
      .name = "Abs", .first_opset = 6, .run = &run_abs, .infer = &infer_same, .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
