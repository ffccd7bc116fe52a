#include "reference/reduce.hpp"

#include <fmt/format.h>

#include "reference/shape_rules.hpp"

namespace assay::reference {

namespace {

/// Which of the axes are reduced. None named means all, unless noop_with_empty_axes.
struct ReducedAxes {
  bool identity = false;
  bool keep = true;
  std::vector<bool> reduced;

  /// `shape` with a `one` at reduced axes, or without them unless `kept`.
  template <typename Extent>
  [[nodiscard]] std::vector<Extent> applied(const std::vector<Extent>& shape, const Extent& one, bool kept) const {
    std::vector<Extent> result;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!reduced[axis] || kept) result.push_back(reduced[axis] ? one : shape[axis]);
    }
    return result;
  }
};

Result<ReducedAxes> reduced_axes(const Node& node, std::span<const std::int64_t> named, std::int64_t rank) {
  const auto axes = checked_axes(named, rank);
  if (!axes) return axes.error();
  ReducedAxes result;
  result.identity = axes->empty() && node.int_or("noop_with_empty_axes", 0) != 0;
  result.keep = node.int_or("keepdims", 1) != 0;
  result.reduced.assign(at(rank), axes->empty());
  for (const std::int64_t axis : *axes) result.reduced[at(axis)] = true;
  return result;
}

/// An attribute that nobody reads would leave all axes reduced.
core::Status check_form(const Node& node, std::int64_t opset, std::int64_t axes_input_since) {
  if (opset < axes_input_since || !node.has("axes")) return core::success();
  return op_error(fmt::format("axes is an attribute; from opset {} on it is input 1", axes_input_since));
}

}  // namespace

Result<std::vector<TensorFacts>> infer_reduction(const ShapeCall& call, std::int64_t axes_input_since) {
  const TensorFacts& x = call.in(0);
  const bool is_input = call.opset >= axes_input_since;
  if (const auto form = check_form(call.node, call.opset, axes_input_since); !form) return form.error();
  const auto named = list_argument(call, is_input ? "" : "axes", is_input ? 1 : call.inputs.size());
  if (!named) return named.error();
  if (!x.shape) return one(x.type, std::nullopt);
  const bool keep = call.node.int_or("keepdims", 1) != 0;
  const auto list = named->given ? named->all() : Shape();
  if (!list) {  // some axes of some number
    if (keep) return one(x.type, unknown_dims(x.shape->size()));
    const bool counted = named->elements && !named->elements->empty() && named->elements->size() <= x.shape->size();
    return one(x.type, counted ? std::optional(unknown_dims(x.shape->size() - named->elements->size())) : std::nullopt);
  }
  const auto axes = reduced_axes(call.node, *list, *x.rank());
  if (!axes) return axes.error();
  return one(x.type, axes->identity ? *x.shape : axes->applied(*x.shape, known(1), axes->keep));
}

Result<Reduction> reduction_of(const OpCall& call, std::int64_t axes_input_since) {
  if (const auto form = check_form(call.node, call.opset, axes_input_since); !form) return form.error();
  const Shape& shape = call.in(0).shape();
  std::vector<std::int64_t> named;
  if (call.opset < axes_input_since) {
    named = call.node.ints_or("axes");
  } else if (call.has_input(1)) {
    auto list = integer_list(call, 1);
    if (!list) return list.error();
    named = std::move(*list);
  }
  const auto axes = reduced_axes(call.node, named, call.in(0).rank());
  if (!axes) return axes.error();
  Reduction reduction{.identity = axes->identity,
                      .kept = axes->applied(shape, std::int64_t{1}, true),
                      .output = axes->applied(shape, std::int64_t{1}, axes->keep)};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axes->reduced[axis]) reduction.count *= shape[axis];
  }
  return reduction;
}

}  // namespace assay::reference
