#include <fmt/format.h>

#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

// ONNX Flatten-13: a matrix of the extents before axis by those from it on.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  std::int64_t axis = call.node.int_or("axis", 1);
  if (axis < -x.rank() || axis > x.rank()) {
    return op_error(fmt::format("axis {} is outside [{}, {}]", axis, -x.rank(), x.rank()));
  }
  if (axis < 0) axis += x.rank();
  const std::span<const std::int64_t> extents(x.shape());
  return single_output(
      x.reshaped({core::element_count(extents.first(at(axis))), core::element_count(extents.subspan(at(axis)))}));
}

}  // namespace

const OpDef& op_flatten() {
  static const OpDef def{.name = "Flatten", .run = &run};
  return def;
}

}  // namespace assay::reference
