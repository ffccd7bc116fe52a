#include "reference/elementwise.hpp"
#include "reference/quant.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Round-11: halves go to the even neighbour.
Result<std::vector<Tensor>> run_round(const OpCall& call) {
  return map_reals(call, [](double x) { return round_half_even(x); });
}

}  // namespace

const OpDef& op_round() {
  static const OpDef def{.name = "Round", .first_opset = 11, .run = &run_round, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
