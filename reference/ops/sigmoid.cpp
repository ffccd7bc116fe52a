#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Sigmoid-13: 1 / (1 + exp(-x)).
Result<std::vector<Tensor>> run_sigmoid(const OpCall& call) {
  return map_reals(call, [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
}

}  // namespace

const OpDef& op_sigmoid() {
  static const OpDef def{.name = "Sigmoid", .first_opset = 6, .run = &run_sigmoid, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
