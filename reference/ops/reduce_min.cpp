#include <limits>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 18;

// ONNX ReduceMin-20. NaN where any element is NaN; of nothing it is the high end of the type.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const DType type = call.in(0).type();
  const std::int64_t end = core::is_integer(type) ? core::integer_limits(type).high : 0;
  return reduce(
      call, kAxesAreInput, std::numeric_limits<double>::infinity(), end,
      [](auto best, auto x) { return lesser(best, x); }, kAsItIs);
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_min() {
  static const OpDef def{.name = "ReduceMin", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
