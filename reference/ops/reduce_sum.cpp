#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 13;

// ONNX ReduceSum-13. Nothing sums to 0.
Result<std::vector<Tensor>> run(const OpCall& call) {
  return reduce(
      call, kAxesAreInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x); }, kAsItIs);
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_sum() {
  static const OpDef def{.name = "ReduceSum", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
