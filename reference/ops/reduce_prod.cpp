#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 18;

// ONNX ReduceProd-18. The product of nothing is 1.
Result<std::vector<Tensor>> run(const OpCall& call) {
  return reduce(
      call, kAxesAreInput, 1.0, 1, [](auto product, auto x) { return times(product, x); }, kAsItIs);
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_prod() {
  static const OpDef def{.name = "ReduceProd", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
