#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Asin-7.
Result<std::vector<Tensor>> run_asin(const OpCall& call) {
  return map_reals(call, [](double x) { return std::asin(x); });
}

}  // namespace

const OpDef& op_asin() {
  static const OpDef def{.name = "Asin", .first_opset = 7, .run = &run_asin, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
