#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Softsign-1: x / (1 + |x|).
Result<std::vector<Tensor>> run_softsign(const OpCall& call) {
  return map_reals(call, [](double x) { return x / (1.0 + std::abs(x)); });
}

}  // namespace

const OpDef& op_softsign() {
  static const OpDef def{.name = "Softsign", .run = &run_softsign, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
