#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 18;

// ONNX ReduceSumSquare-18.
Result<std::vector<Tensor>> run(const OpCall& call) {
  return reduce(
      call, kAxesAreInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, times(x, x)); }, kAsItIs);
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_sum_square() {
  static const OpDef def{.name = "ReduceSumSquare", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
