#include <cmath>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 18;

// ONNX ReduceLogSum-18: log of the sum. Integer data is legal, but its logarithms have no agreed rounding.
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return op_unsupported(real.error().message);
  return reduce(
      call, kAxesAreInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x); },
      [](auto sum, auto) { return static_cast<decltype(sum)>(std::log(static_cast<double>(sum))); });
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_log_sum() {
  static const OpDef def{.name = "ReduceLogSum", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
