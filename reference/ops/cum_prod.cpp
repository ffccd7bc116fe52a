#include "reference/running.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX CumProd-26: running products along the axis of input 1; exclusive leaves out the element itself, reverse runs
// from the end.
Result<std::vector<Tensor>> run_cum_prod(const OpCall& call) {
  return running(call, 1, [](auto product, auto x) { return times(product, x); });
}

Result<Facts> infer_cum_prod(const ShapeCall& call) {
  if (const auto axis = require_single(call, 1); !axis) return axis.error();
  return infer_same(call);
}

}  // namespace

const OpDef& op_cum_prod() {
  static const OpDef def{.name = "CumProd",
                         .first_opset = 26,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_cum_prod,
                         .infer = &infer_cum_prod};
  return def;
}

}  // namespace assay::reference
