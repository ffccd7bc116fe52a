#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX LeakyRelu-16: alpha * x below zero, x elsewhere. The default is the float32 of 0.01.
Result<std::vector<Tensor>> run_leaky_relu(const OpCall& call) {
  const double alpha = call.node.float_or("alpha", static_cast<double>(0.01F));
  return map_reals(call, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

}  // namespace

const OpDef& op_leaky_relu() {
  static const OpDef def{.name = "LeakyRelu", .first_opset = 6, .run = &run_leaky_relu, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
