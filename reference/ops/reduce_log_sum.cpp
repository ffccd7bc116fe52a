#include <cmath>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceLogSumAxesInput = 18;

// ONNX ReduceLogSum-18: log of the sum. Integer data is legal, but its logarithms have no agreed rounding.
Result<std::vector<Tensor>> run_reduce_log_sum(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return op_unsupported(real.error().message);
  return reduce(
      call, kReduceLogSumAxesInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x); },
      [](auto sum, auto) { return static_cast<decltype(sum)>(std::log(static_cast<double>(sum))); });
}

Result<Facts> infer_reduce_log_sum(const ShapeCall& call) { return infer_reduction(call, kReduceLogSumAxesInput); }

}  // namespace

const OpDef& op_reduce_log_sum() {
  static const OpDef def{
      .name = "ReduceLogSum", .max_inputs = 2, .run = &run_reduce_log_sum, .infer = &infer_reduce_log_sum};
  return def;
}

}  // namespace assay::reference
