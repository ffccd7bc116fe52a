#include <limits>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceMaxAxesInput = 18;

// ONNX ReduceMax-20. NaN where any element is NaN; of nothing it is the low end of the type.
Result<std::vector<Tensor>> run_reduce_max(const OpCall& call) {
  const DType type = call.in(0).type();
  const std::int64_t end = core::is_integer(type) ? core::integer_limits(type).low : 0;
  return reduce(
      call, kReduceMaxAxesInput, -std::numeric_limits<double>::infinity(), end,
      [](auto best, auto x) { return larger(best, x); }, kAsItIs);
}

Result<Facts> infer_reduce_max(const ShapeCall& call) { return infer_reduction(call, kReduceMaxAxesInput); }

}  // namespace

const OpDef& op_reduce_max() {
  static const OpDef def{.name = "ReduceMax", .max_inputs = 2, .run = &run_reduce_max, .infer = &infer_reduce_max};
  return def;
}

}  // namespace assay::reference
