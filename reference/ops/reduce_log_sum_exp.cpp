#include <cmath>
#include <limits>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kReduceLogSumExpAxesInput = 18;

// ONNX ReduceLogSumExp-18: log of the sum of exponentials, as m + log(sum(exp(x - m))) with m the largest, so that
// nothing overflows. Integer data is legal, but its logarithms have no agreed rounding.
Result<std::vector<Tensor>> run_reduce_log_sum_exp(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return op_unsupported(real.error().message);
  const auto reduction = reduction_of(call, kReduceLogSumExpAxesInput);
  if (!reduction) return reduction.error();
  const Tensor& x = call.in(0);
  if (reduction->identity) return single_output(x);
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const std::vector<double> largest =
      fold<double>(x.reals(), x.shape(), *reduction, kNothing, [](double m, double value) { return larger(m, value); });
  std::vector<double> values(largest.size(), 0.0);
  for_each_broadcast<1>(x.shape(), {broadcast_strides(reduction->kept, x.shape())},
                        [&](std::int64_t position, const std::array<std::int64_t, 1>& to) {
                          const std::size_t group = at(to[0]);
                          // Around an infinity the difference would be NaN.
                          const double m = std::isinf(largest[group]) ? 0.0 : largest[group];
                          values[group] += std::exp(x.reals()[at(position)] - m);
                        });
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::log(values[i]) + (std::isinf(largest[i]) ? 0.0 : largest[i]);
  }
  return single_output(Tensor(x.type(), reduction->output, std::move(values)));
}

Result<Facts> infer_reduce_log_sum_exp(const ShapeCall& call) {
  return infer_reduction(call, kReduceLogSumExpAxesInput);
}

}  // namespace

const OpDef& op_reduce_log_sum_exp() {
  static const OpDef def{
      .name = "ReduceLogSumExp", .max_inputs = 2, .run = &run_reduce_log_sum_exp, .infer = &infer_reduce_log_sum_exp};
  return def;
}

}  // namespace assay::reference
