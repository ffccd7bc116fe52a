#include "reference/running.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX CumSum-14: running sums along the axis of input 1; exclusive leaves out the element itself, reverse runs from
// the end.
Result<std::vector<Tensor>> run_cum_sum(const OpCall& call) {
  return running(call, 0, [](auto sum, auto x) { return plus(sum, x); });
}

Result<Facts> infer_cum_sum(const ShapeCall& call) {
  const auto axis = integer_argument(call, 1);
  if (!axis) return axis.error();
  if (*axis && call.in(0).shape) {
    const auto checked = checked_axis(**axis, *call.in(0).rank());
    if (!checked) return checked.error();
  }
  return infer_same(call);
}

}  // namespace

const OpDef& op_cum_sum() {
  static const OpDef def{.name = "CumSum",
                         .first_opset = 11,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_cum_sum,
                         .infer = &infer_cum_sum};
  return def;
}

}  // namespace assay::reference
