#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

template <typename T>
std::vector<T> running_sums(std::span<const T> x, const AxisSplit& split, bool exclusive, bool reverse) {
  std::vector<T> y(x.size());
  for (std::int64_t line = 0; line < split.outer * split.inner; ++line) {
    const std::int64_t first = (line / split.inner) * split.extent * split.inner + line % split.inner;
    T sum{0};
    for (std::int64_t step = 0; step < split.extent; ++step) {
      const std::size_t index = at(first + (reverse ? split.extent - 1 - step : step) * split.inner);
      const T before = sum;
      sum = plus(sum, x[index]);
      y[index] = exclusive ? before : sum;
    }
  }
  return y;
}

/// ONNX CumSum-14: running sums along the axis of input 1; exclusive leaves out the element itself, reverse runs from
/// the end.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const Result<std::int64_t> wanted = integer_scalar(call, 1);
  if (!wanted) {
    return wanted.error();
  }
  const Result<std::int64_t> axis = checked_axis(*wanted, x.rank());
  if (!axis) {
    return axis.error();
  }
  const AxisSplit split = split_at_axis(x.shape(), *axis);
  const bool exclusive = call.node.int_or("exclusive", 0) != 0;
  const bool reverse = call.node.int_or("reverse", 0) != 0;
  if (x.is_real()) {
    return single_output(Tensor(x.type(), x.shape(), running_sums(x.reals(), split, exclusive, reverse)));
  }
  std::vector<std::int64_t> sums = running_sums(x.integers(), split, exclusive, reverse);
  std::transform(sums.begin(), sums.end(), sums.begin(), [&](std::int64_t sum) { return wrap(sum, x.type()); });
  return single_output(Tensor(x.type(), x.shape(), std::move(sums)));
}

Result<Facts> infer(const ShapeCall& call) {
  const auto axis = integer_argument(call, 1);
  if (!axis) return axis.error();
  if (*axis && call.in(0).shape) {
    const auto checked = checked_axis(**axis, *call.in(0).rank());
    if (!checked) return checked.error();
  }
  return infer_same(call);
}

}  // namespace

const OpDef& op_cum_sum() {
  static const OpDef def{
      .name = "CumSum", .first_opset = 11, .min_inputs = 2, .max_inputs = 2, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
