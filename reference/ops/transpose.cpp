#include <fmt/format.h>

#include <numeric>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

// ONNX Transpose-13: axis i of the result is axis perm[i] of the data; without perm the axes are reversed.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  std::vector<std::int64_t> reversed(at(x.rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<std::int64_t> perm = call.node.ints_or("perm", reversed);
  const auto axes = checked_axes(perm, x.rank());
  if (!axes) return axes.error().within(fmt::format("perm {}", core::shape_text(perm)));
  if (axes->size() != reversed.size()) {
    return op_error(fmt::format("perm {} does not name every axis of {}", core::shape_text(perm), tensor_text(x)));
  }
  return single_output(transposed(x, *axes));
}

}  // namespace

const OpDef& op_transpose() {
  static const OpDef def{.name = "Transpose", .run = &run};
  return def;
}

}  // namespace assay::reference
