#include <cmath>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceL2AxesInput = 18;

// ONNX ReduceL2-18: the root of the sum of squares, truncated for integers.
Result<std::vector<Tensor>> run_reduce_l2(const OpCall& call) {
  return reduce(
      call, kReduceL2AxesInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, times(x, x)); },
      [](auto sum, auto) { return static_cast<decltype(sum)>(std::sqrt(static_cast<double>(sum))); });
}

Result<Facts> infer_reduce_l2(const ShapeCall& call) { return infer_reduction(call, kReduceL2AxesInput); }

}  // namespace

const OpDef& op_reduce_l2() {
  static const OpDef def{.name = "ReduceL2", .max_inputs = 2, .run = &run_reduce_l2, .infer = &infer_reduce_l2};
  return def;
}

}  // namespace assay::reference
