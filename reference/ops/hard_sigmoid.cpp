#include <algorithm>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX HardSigmoid-6: max(0, min(1, alpha * x + beta)).
Result<std::vector<Tensor>> run_hard_sigmoid(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", static_cast<double>(0.2F));
  const double beta = call.node.float_or("beta", 0.5);
  return map_reals(call, [=](double x) { return larger(0.0, lesser(1.0, alpha * x + beta)); });
}

}  // namespace

const OpDef& op_hard_sigmoid() {
  static const OpDef def{.name = "HardSigmoid", .first_opset = 6, .run = &run_hard_sigmoid, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
