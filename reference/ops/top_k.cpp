#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kCountIsInput = 10;

/// A total order: NaN is larger than every number.
bool above(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }
bool above(std::int64_t a, std::int64_t b) { return a > b; }

Result<std::int64_t> count_of(const OpCall& call) {
  if (call.opset < kCountIsInput) return call.node.int_or("k", -1);
  if (!call.has_input(1)) return op_error("k is missing");
  return integer_scalar(call, 1);
}

/// Positions of the `count` best of each line along the axis, best first; of equals the lower index.
template <typename Values>
std::vector<std::int64_t> ranking(const Values& values, const AxisSplit& split, std::int64_t count, bool largest) {
  std::vector<std::int64_t> result(at(split.outer * count * split.inner));
  std::vector<std::int64_t> order(at(split.extent));
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (std::int64_t inner = 0; inner < split.inner; ++inner) {
      const auto value = [&](std::int64_t i) { return values[at((outer * split.extent + i) * split.inner + inner)]; };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
        return largest ? above(value(a), value(b)) : above(value(b), value(a));
      });
      for (std::int64_t i = 0; i < count; ++i) result[at((outer * count + i) * split.inner + inner)] = order[at(i)];
    }
  }
  return result;
}

template <typename Value>
std::vector<Value> pick(std::span<const Value> values, const std::vector<std::int64_t>& ranks, const AxisSplit& split,
                        std::int64_t count) {
  std::vector<Value> result(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i);
    const std::int64_t outer = position / (count * split.inner);
    result[i] = values[at((outer * split.extent + ranks[i]) * split.inner + position % split.inner)];
  }
  return result;
}

// ONNX TopK-11, in sorted order also where sorted=0 leaves the order open.
Result<std::vector<Tensor>> run_top_k(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto axis = checked_axis(call.node.int_or("axis", -1), x.rank());
  if (!axis) return axis.error();
  const auto count = count_of(call);
  if (!count) return count.error();
  const AxisSplit split = split_at_axis(x.shape(), *axis);
  if (*count < 0 || *count > split.extent) {
    return op_error(fmt::format("k is {}, axis {} of {} has {} elements", *count, *axis, tensor_text(x), split.extent));
  }
  const bool largest = call.node.int_or("largest", 1) != 0;
  Shape shape = x.shape();
  shape[at(*axis)] = *count;
  std::vector<std::int64_t> ranks =
      x.is_real() ? ranking(x.reals(), split, *count, largest) : ranking(x.integers(), split, *count, largest);
  std::vector<Tensor> outputs;
  outputs.push_back(x.is_real() ? Tensor(x.type(), shape, pick<double>(x.reals(), ranks, split, *count))
                                : Tensor(x.type(), shape, pick<std::int64_t>(x.integers(), ranks, split, *count)));
  outputs.emplace_back(DType::int64, shape, std::move(ranks));
  return outputs;
}

Result<Facts> infer_top_k(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto axis = axis_argument(call, "axis", -1);
  if (!axis) return axis.error();
  Dimension count;
  if (call.opset < kCountIsInput) {
    count = known(call.node.int_or("k", -1));
  } else {
    if (!call.has_input(1)) return op_error("k is missing");
    const auto k = integer_argument(call, 1);
    if (!k) return k.error();
    if (*k) count = known(**k);
  }
  const Dimension extent = *axis ? extent_of(x, at(**axis)) : Dimension();
  if (count.value && (*count.value < 0 || (extent.value && *count.value > *extent.value))) {
    return op_error(
        fmt::format("k is {}, the axis of {} has {} elements", *count.value, facts_text(x), dim_text(extent)));
  }
  const auto shape = with_extent(x.shape, *axis, count);
  return Facts{typed(x.type, shape), typed(DType::int64, shape)};
}

}  // namespace

const OpDef& op_top_k() {
  static const OpDef def{.name = "TopK", .max_inputs = 2, .run = &run_top_k, .infer = &infer_top_k};
  return def;
}

}  // namespace assay::reference
