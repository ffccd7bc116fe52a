#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Relu-14: max(0, x). NaN stays NaN.
Result<std::vector<Tensor>> run_relu(const OpCall& call) {
  return map_numbers(call, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

}  // namespace

const OpDef& op_relu() {
  static const OpDef def{.name = "Relu", .first_opset = 6, .run = &run_relu, .infer = &infer_same};
  return def;
}

}  // namespace assay::reference
