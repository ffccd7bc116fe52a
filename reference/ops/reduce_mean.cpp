#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceMeanAxesInput = 18;

double mean(double sum, double count) { return sum / count; }
std::int64_t mean(std::int64_t sum, std::int64_t count) { return count == 0 ? 0 : quotient(sum, count); }

// ONNX ReduceMean-18. The mean of integers is truncated; of no reals it is NaN.
Result<std::vector<Tensor>> run_reduce_mean(const OpCall& call) {
  return reduce(
      call, kReduceMeanAxesInput, 0.0, 0, [](auto sum, auto x) { return plus(sum, x); },
      [](auto sum, auto count) { return mean(sum, count); });
}

Result<Facts> infer_reduce_mean(const ShapeCall& call) { return infer_reduction(call, kReduceMeanAxesInput); }

}  // namespace

const OpDef& op_reduce_mean() {
  static const OpDef def{.name = "ReduceMean", .max_inputs = 2, .run = &run_reduce_mean, .infer = &infer_reduce_mean};
  return def;
}

}  // namespace assay::reference
