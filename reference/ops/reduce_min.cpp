#include <limits>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceMinAxesInput = 18;

// ONNX ReduceMin-20. NaN where any element is NaN; of nothing it is the high end of the type.
Result<std::vector<Tensor>> run_reduce_min(const OpCall& call) {
  const DType type = call.in(0).type();
  const std::int64_t end = core::is_integer(type) ? core::integer_limits(type).high : 0;
  return reduce(
      call, kReduceMinAxesInput, std::numeric_limits<double>::infinity(), end,
      [](auto best, auto x) { return lesser(best, x); }, kAsItIs);
}

Result<Facts> infer_reduce_min(const ShapeCall& call) { return infer_reduction(call, kReduceMinAxesInput); }

}  // namespace

const OpDef& op_reduce_min() {
  static const OpDef def{.name = "ReduceMin", .max_inputs = 2, .run = &run_reduce_min, .infer = &infer_reduce_min};
  return def;
}

}  // namespace assay::reference
