#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kAxesAreInput = 18;

double mean(double sum, double count) { return sum / count; }
std::int64_t mean(std::int64_t sum, std::int64_t count) { return count == 0 ? 0 : quotient(sum, count); }

// ONNX ReduceMean-18. The mean of integers is truncated; of no reals it is NaN.
Result<std::vector<Tensor>> run(const OpCall& call) {
  return reduce(
      call, kAxesAreInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x); },
      [](auto sum, auto count) { return mean(sum, count); });
}

Result<Facts> infer(const ShapeCall& call) { return infer_reduction(call, kAxesAreInput); }

}  // namespace

const OpDef& op_reduce_mean() {
  static const OpDef def{.name = "ReduceMean", .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
