#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Floor-13.
Result<std::vector<Tensor>> run_floor(const OpCall& call) {
  return map_reals(call, [](double x) { return std::floor(x); });
}

}  // namespace

const OpDef& op_floor() {
  static const OpDef def{.name = "Floor", .first_opset = 6, .run = &run_floor, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
