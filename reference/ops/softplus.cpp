#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Softplus-1: log(exp(x) + 1), in the form that does not overflow.
Result<std::vector<Tensor>> run_softplus(const OpCall& call) {
  return map_reals(call, [](double x) { return larger(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
}

}  // namespace

const OpDef& op_softplus() {
  static const OpDef def{.name = "Softplus", .run = &run_softplus, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
