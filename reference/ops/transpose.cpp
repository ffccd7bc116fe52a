#include <fmt/format.h>

#include <numeric>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// perm, or the axes reversed; for a tensor of `rank` axes. Errors   no permutation of them.
Result<std::vector<std::int64_t>> permutation(const Node& node, std::int64_t rank) {
  std::vector<std::int64_t> reversed(at(rank));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<std::int64_t> perm = node.ints_or("perm", reversed);
  auto axes = checked_axes(perm, rank);
  if (!axes) return axes.error().within(fmt::format("perm {}", core::shape_text(perm)));
  if (axes->size() != reversed.size()) {
    return op_error(
        fmt::format("perm {} does not name every axis of a tensor of rank {}", core::shape_text(perm), rank));
  }
  return axes;
}

Result<Facts> infer_transpose(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  if (!x.shape) {
    return one(x.type,
               call.node.has("perm") ? std::optional(unknown_dims(call.node.ints_or("perm").size())) : std::nullopt);
  }
  const auto perm = permutation(call.node, *x.rank());
  if (!perm) return perm.error();
  Dims shape;
  for (const std::int64_t axis : *perm) shape.push_back((*x.shape)[at(axis)]);
  return one(x.type, std::move(shape));
}

// ONNX Transpose-13: axis i of the result is axis perm[i] of the data; without perm the axes are reversed.
Result<std::vector<Tensor>> run_transpose(const OpCall& call) {
  const auto perm = permutation(call.node, call.in(0).rank());
  if (!perm) return perm.error();
  return single_output(transposed(call.in(0), *perm));
}

}  // namespace

const OpDef& op_transpose() {
  static const OpDef def{
      .name = "Transpose", .run = &run_transpose, .infer = &infer_transpose, .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
