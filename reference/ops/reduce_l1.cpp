#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 18;

// ONNX ReduceL1-18: the sum of absolute values.
Result<std::vector<Tensor>> run(const OpCall& call) {
  return reduce(
      call, kAxesAreInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x < 0 ? minus(decltype(x){0}, x) : x); },
      kAsItIs);
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_l1() {
  static const OpDef def{.name = "ReduceL1", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
