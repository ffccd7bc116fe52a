#include "reference/reduce.hpp"

namespace assay::reference {

Result<Reduction> reduction_of(const OpCall& call, std::int64_t axes_input_since) {
  const Tensor& x = call.in(0);
  std::vector<std::int64_t> named;
  if (call.opset < axes_input_since) {
    named = call.node.ints_or("axes");
  } else if (call.has_input(1)) {
    auto list = integer_list(call, 1);
    if (!list) return list.error();
    named = std::move(*list);
  }
  const auto axes = checked_axes(named, x.rank());
  if (!axes) return axes.error();

  Reduction reduction;
  reduction.identity = axes->empty() && call.node.int_or("noop_with_empty_axes", 0) != 0;
  const bool keep = call.node.int_or("keepdims", 1) != 0;
  std::vector<bool> reduced(x.shape().size(), axes->empty());
  for (const std::int64_t axis : *axes) reduced[at(axis)] = true;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    const std::int64_t extent = x.shape()[axis];
    reduction.kept.push_back(reduced[axis] ? 1 : extent);
    if (!reduced[axis] || keep) reduction.output.push_back(reduced[axis] ? 1 : extent);
    if (reduced[axis]) reduction.count *= extent;
  }
  return reduction;
}

}  // namespace assay::reference
