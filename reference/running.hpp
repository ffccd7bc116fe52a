#pragma once

#include <cstdint>
#include <vector>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"

namespace assay::reference {

template <typename T, typename Step>
std::vector<T> running_values(std::span<const T> x, const AxisSplit& split, T initial, bool exclusive, bool reverse,
                              Step step) {
  std::vector<T> y(x.size());
  for (std::int64_t line = 0; line < split.outer * split.inner; ++line) {
    const std::int64_t first = (line / split.inner) * split.extent * split.inner + line % split.inner;
    T value = initial;
    for (std::int64_t i = 0; i < split.extent; ++i) {
      const std::size_t index = at(first + (reverse ? split.extent - 1 - i : i) * split.inner);
      const T before = value;
      value = step(value, x[index]);
      y[index] = exclusive ? before : value;
    }
  }
  return y;
}

/// The whole of CumSum and CumProd: what `step` makes of the elements so far along the axis of input 1, starting from
/// `initial`. Attributes exclusive (without the element itself) and reverse (from the end). Integers wrap.
template <typename Step>
Result<std::vector<Tensor>> running(const OpCall& call, int initial, Step step) {
  const Tensor& x = call.in(0);
  const Result<std::int64_t> wanted = integer_scalar(call, 1);
  if (!wanted) return wanted.error();
  const Result<std::int64_t> axis = checked_axis(*wanted, x.rank());
  if (!axis) return axis.error();
  const AxisSplit split = split_at_axis(x.shape(), *axis);
  const bool exclusive = call.node.int_or("exclusive", 0) != 0;
  const bool reverse = call.node.int_or("reverse", 0) != 0;
  if (x.is_real()) {
    return single_output(Tensor(
        x.type(), x.shape(), running_values(x.reals(), split, static_cast<double>(initial), exclusive, reverse, step)));
  }
  std::vector<std::int64_t> values =
      running_values(x.integers(), split, static_cast<std::int64_t>(initial), exclusive, reverse, step);
  for (std::int64_t& value : values) value = wrap(value, x.type());
  return single_output(Tensor(x.type(), x.shape(), std::move(values)));
}

}  // namespace assay::reference
