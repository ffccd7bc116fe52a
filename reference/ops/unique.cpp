#include <algorithm>
#include <numeric>

#include "reference/arguments.hpp"
#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// Slices along an axis, each compared as the list of its elements; without an axis every element is a slice.
struct Slices {
  const Tensor& x;
  AxisSplit split;

  [[nodiscard]] std::int64_t element(std::int64_t slice, std::int64_t i) const {
    return (i / split.inner * split.extent + slice) * split.inner + i % split.inner;
  }
  template <typename Values>
  [[nodiscard]] bool less(const Values& values, std::int64_t a, std::int64_t b) const {
    for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
      const auto left = values[at(element(a, i))];
      const auto right = values[at(element(b, i))];
      if (left != right) return left < right;
    }
    return false;
  }
  [[nodiscard]] bool less(std::int64_t a, std::int64_t b) const {
    return x.is_real() ? less(x.reals(), a, b) : less(x.integers(), a, b);
  }
};

std::vector<Tensor> lists(std::vector<std::int64_t> first, std::vector<std::int64_t> inverse,
                          std::vector<std::int64_t> counts) {
  std::vector<Tensor> result;
  for (std::vector<std::int64_t>* list : {&first, &inverse, &counts}) {
    const auto size = static_cast<std::int64_t>(list->size());
    result.emplace_back(DType::int64, Shape{size}, std::move(*list));
  }
  return result;
}

// ONNX Unique-28: the different elements of x, flattened, or the different slices along `axis`; in ascending order, or,
// with sorted 0, in that of their first occurrence. Outputs Y, where each occurs first, which of them each element is,
// and how often each occurs. NaN, which equals nothing, is refused.
Result<std::vector<Tensor>> run_unique(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.is_real() && std::ranges::any_of(x.reals(), [](double value) { return value != value; })) {
    return op_unsupported("the input holds NaN, of which the standard does not say whether two are equal");
  }
  const bool flat = !call.node.has("axis");
  const auto axis = flat ? Result<std::int64_t>(0) : checked_axis(call.node.int_or("axis", 0), x.rank());
  if (!axis) return axis.error();
  const Slices slices{x,
                      flat ? AxisSplit{.outer = 1, .extent = x.size(), .inner = 1} : split_at_axis(x.shape(), *axis)};
  std::vector<std::int64_t> order(at(slices.split.extent));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return slices.less(a, b); });

  // Runs of equal slices: the first of each, as the sort was stable, is its first occurrence.
  std::vector<std::vector<std::int64_t>> groups;
  for (const std::int64_t slice : order) {
    if (groups.empty() || slices.less(groups.back().front(), slice)) groups.emplace_back();
    groups.back().push_back(slice);
  }
  if (call.node.int_or("sorted", 1) == 0) {
    std::ranges::sort(groups, [](const auto& a, const auto& b) { return a.front() < b.front(); });
  }
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> inverse(order.size());
  for (const std::vector<std::int64_t>& group : groups) {
    for (const std::int64_t slice : group) inverse[at(slice)] = static_cast<std::int64_t>(first.size());
    first.push_back(group.front());
    counts.push_back(static_cast<std::int64_t>(group.size()));
  }
  const auto found = static_cast<std::int64_t>(first.size());
  Shape shape{found};
  if (!flat) {
    shape = x.shape();
    shape[at(*axis)] = found;
  }
  std::vector<std::int64_t> positions;
  for (std::int64_t outer = 0; outer < slices.split.outer; ++outer) {
    for (const std::int64_t slice : first) {
      for (std::int64_t k = 0; k < slices.split.inner; ++k) {
        positions.push_back(slices.element(slice, outer * slices.split.inner + k));
      }
    }
  }
  std::vector<Tensor> outputs{elements_at(x, positions, shape)};
  for (Tensor& list : lists(std::move(first), std::move(inverse), std::move(counts)))
    outputs.push_back(std::move(list));
  return outputs;
}

Result<Facts> infer_unique(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  std::optional<Dims> shape = Dims{Dimension()};
  if (call.node.has("axis")) {
    const auto axis = axis_argument(call, "axis", 0);
    if (!axis) return axis.error();
    shape = with_extent(x.shape, *axis, Dimension());
  }
  const TensorFacts list = typed(DType::int64, Dims{Dimension()});
  return Facts{typed(x.type, std::move(shape)), list, list, list};
}

}  // namespace

const OpDef& op_unique() {
  static const OpDef def{.name = "Unique", .first_opset = 11, .run = &run_unique, .infer = &infer_unique};
  return def;
}

}  // namespace assay::reference
