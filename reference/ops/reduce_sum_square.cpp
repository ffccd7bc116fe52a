#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceSumSquareAxesInput = 18;

// ONNX ReduceSumSquare-18.
Result<std::vector<Tensor>> run_reduce_sum_square(const OpCall& call) {
  return reduce(
      call, kReduceSumSquareAxesInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, times(x, x)); }, kAsItIs);
}

Result<Facts> infer_reduce_sum_square(const ShapeCall& call) {
  return infer_reduction(call, kReduceSumSquareAxesInput);
}

}  // namespace

const OpDef& op_reduce_sum_square() {
  static const OpDef def{
      .name = "ReduceSumSquare", .max_inputs = 2, .run = &run_reduce_sum_square, .infer = &infer_reduce_sum_square};
  return def;
}

}  // namespace assay::reference
