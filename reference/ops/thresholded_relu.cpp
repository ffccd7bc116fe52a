#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX ThresholdedRelu-10: x where it is larger than alpha, 0 elsewhere. NaN stays NaN.
Result<std::vector<Tensor>> run_thresholded_relu(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", 1.0);
  return map_reals(call, [alpha](double x) { return x <= alpha ? 0.0 : x; });
}

}  // namespace

const OpDef& op_thresholded_relu() {
  static const OpDef def{
      .name = "ThresholdedRelu", .first_opset = 10, .run = &run_thresholded_relu, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
