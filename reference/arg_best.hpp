#pragma once

#include <vector>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

/// The shape of ArgMax and ArgMin: `axis` becomes 1, or is dropped unless keepdims.
[[nodiscard]] inline Result<std::vector<TensorFacts>> infer_arg_best(const ShapeCall& call) {
  std::optional<Dims> shape = call.in(0).shape;
  const auto axis = axis_argument(call, "axis", 0);
  if (!axis) return axis.error();
  if (!shape) return one(DType::int64, std::nullopt);
  if ((*shape)[at(**axis)].value == 0) {
    return op_error("the axis has no elements to choose from: " + facts_text(call.in(0)));
  }
  (*shape)[at(**axis)] = known(1);
  if (call.node.int_or("keepdims", 1) == 0) shape->erase(shape->begin() + **axis);
  return one(DType::int64, std::move(shape));
}

/// ArgMax and ArgMin: `better(a, b)` says whether a value a beats b strictly. The first of equals wins, or the last
/// with select_last_index.
template <typename Better>
Result<std::vector<Tensor>> arg_best(const OpCall& call, Better better) {
  const Tensor& x = call.in(0);
  const auto axis = checked_axis(call.node.int_or("axis", 0), x.rank());
  if (!axis) return axis.error();
  const bool last = call.node.int_or("select_last_index", 0) != 0;
  const AxisSplit split = split_at_axis(x.shape(), *axis);
  auto shape = ruled_shape(call, &infer_arg_best);
  if (!shape) return shape.error();

  const auto choose = [&](const auto& values) {
    std::vector<std::int64_t> result;
    for (std::int64_t outer = 0; outer < split.outer; ++outer) {
      for (std::int64_t inner = 0; inner < split.inner; ++inner) {
        const auto value = [&](std::int64_t i) { return values[at((outer * split.extent + i) * split.inner + inner)]; };
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < split.extent; ++i) {
          if (better(value(i), value(best)) || (last && !better(value(best), value(i)))) best = i;
        }
        result.push_back(best);
      }
    }
    return result;
  };
  return single_output(Tensor(DType::int64, std::move(*shape), x.is_real() ? choose(x.reals()) : choose(x.integers())));
}

}  // namespace assay::reference
