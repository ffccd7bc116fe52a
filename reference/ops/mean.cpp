#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Mean-13.
Result<std::vector<Tensor>> run_mean(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  auto sum = variadic(call, [](auto a, auto b) { return plus(a, b); });
  if (!sum) return sum.error();
  for (double& value : sum->front().reals()) value /= static_cast<double>(call.inputs.size());
  return sum;
}

}  // namespace

const OpDef& op_mean() {
  static const OpDef def{
      .name = "Mean", .first_opset = 6, .max_inputs = kAnyNumber, .run = &run_mean, .infer = &infer_variadic};
  return def;
}

}  // namespace assay::reference
