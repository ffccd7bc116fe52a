#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceL1AxesInput = 18;

// ONNX ReduceL1-18: the sum of absolute values.
Result<std::vector<Tensor>> run_reduce_l1(const OpCall& call) {
  return reduce(
      call, kReduceL1AxesInput, 0.0, 0,
      [](auto sum, auto x) { return plus(sum, x < 0 ? minus(decltype(x){0}, x) : x); }, kAsItIs);
}

Result<Facts> infer_reduce_l1(const ShapeCall& call) { return infer_reduction(call, kReduceL1AxesInput); }

}  // namespace

const OpDef& op_reduce_l1() {
  static const OpDef def{.name = "ReduceL1", .max_inputs = 2, .run = &run_reduce_l1, .infer = &infer_reduce_l1};
  return def;
}

}  // namespace assay::reference
