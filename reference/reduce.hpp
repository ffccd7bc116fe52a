#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/broadcast.hpp"

namespace assay::reference {

/// Which axes a node reduces and what remains.
struct Reduction {
  bool identity = false;   ///< noop_with_empty_axes: the data passes through
  Shape kept;              ///< the data's shape with extent 1 at reduced axes
  Shape output;            ///< kept, without those axes unless keepdims
  std::int64_t count = 1;  ///< elements that go into each result
};

/// Types and shape of a reduction; arguments as of reduction_of.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_reduction(const ShapeCall& call, std::int64_t axes_input_since);

/// axes, keepdims and noop_with_empty_axes of `call`. axes is an attribute before `axes_input_since` and input 1 from
/// there on; none means all.
[[nodiscard]] Result<Reduction> reduction_of(const OpCall& call, std::int64_t axes_input_since);

/// Folds `step(accumulator, x)` over the reduced elements in row-major order, starting at `initial`.
template <typename Value, typename Step>
std::vector<Value> fold(std::span<const Value> x, const Shape& shape, const Reduction& reduction, Value initial,
                        Step step) {
  std::vector<Value> result(at(core::element_count(reduction.kept)), initial);
  for_each_broadcast<1>(shape, {broadcast_strides(reduction.kept, shape)},
                        [&](std::int64_t position, const std::array<std::int64_t, 1>& to) {
                          Value& accumulator = result[at(to[0])];
                          accumulator = step(accumulator, x[at(position)]);
                        });
  return result;
}

/// A reduction that is a fold: `step(accumulator, x)` from `initial` (a start for each kind of value), and at the end
/// `finish(accumulator, count)`. Reals are folded as doubles, integers as int64 and then wrapped into their type.
template <typename Step, typename Finish>
Result<std::vector<Tensor>> reduce(const OpCall& call, std::int64_t axes_input_since, double initial_real,
                                   std::int64_t initial_integer, Step step, Finish finish) {
  const auto reduction = reduction_of(call, axes_input_since);
  if (!reduction) return reduction.error();
  const Tensor& x = call.in(0);
  if (reduction->identity) return single_output(x);
  if (x.is_real()) {
    std::vector<double> values = fold<double>(x.reals(), x.shape(), *reduction, initial_real, step);
    for (double& value : values) value = finish(value, static_cast<double>(reduction->count));
    return single_output(Tensor(x.type(), reduction->output, std::move(values)));
  }
  std::vector<std::int64_t> values = fold<std::int64_t>(x.integers(), x.shape(), *reduction, initial_integer, step);
  for (std::int64_t& value : values) value = wrap(finish(value, reduction->count), x.type());
  return single_output(Tensor(x.type(), reduction->output, std::move(values)));
}

/// The `finish` of a reduction that is its fold.
inline constexpr auto kAsItIs = [](auto accumulator, auto) { return accumulator; };

}  // namespace assay::reference
