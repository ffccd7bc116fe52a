#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceProdAxesInput = 18;

// ONNX ReduceProd-18. The product of nothing is 1.
Result<std::vector<Tensor>> run_reduce_prod(const OpCall& call) {
  return reduce(
      call, kReduceProdAxesInput, 1.0, 1, [](auto product, auto x) { return times(product, x); }, kAsItIs);
}

Result<Facts> infer_reduce_prod(const ShapeCall& call) { return infer_reduction(call, kReduceProdAxesInput); }

}  // namespace

const OpDef& op_reduce_prod() {
  static const OpDef def{.name = "ReduceProd", .max_inputs = 2, .run = &run_reduce_prod, .infer = &infer_reduce_prod};
  return def;
}

}  // namespace assay::reference
