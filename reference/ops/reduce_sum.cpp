#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceSumAxesInput = 13;

// ONNX ReduceSum-13. Nothing sums to 0.
Result<std::vector<Tensor>> run_reduce_sum(const OpCall& call) {
  return reduce(
      call, kReduceSumAxesInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x); }, kAsItIs);
}

Result<Facts> infer_reduce_sum(const ShapeCall& call) { return infer_reduction(call, kReduceSumAxesInput); }

}  // namespace

const OpDef& op_reduce_sum() {
  static const OpDef def{.name = "ReduceSum", .max_inputs = 2, .run = &run_reduce_sum, .infer = &infer_reduce_sum};
  return def;
}

}  // namespace assay::reference
