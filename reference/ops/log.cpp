#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Log-13.
Result<std::vector<Tensor>> run_log(const OpCall& call) {
  return map_reals(call, [](double x) { return std::log(x); });
}

}  // namespace

const OpDef& op_log() {
  static const OpDef def{.name = "Log", .first_opset = 6, .run = &run_log, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
