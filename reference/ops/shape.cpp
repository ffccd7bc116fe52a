#include <algorithm>

#include "reference/arguments.hpp"

namespace assay::reference {
namespace {

/// `axis` counted from the front and clamped to [0, rank].
std::int64_t clamped(std::int64_t axis, std::int64_t rank) {
  return std::clamp(axis < 0 ? axis + rank : axis, std::int64_t{0}, rank);
}

// ONNX Shape-15: the extents of the axes [start, end).
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t start = clamped(call.node.int_or("start", 0), x.rank());
  const std::int64_t end = std::max(start, clamped(call.node.int_or("end", x.rank()), x.rank()));
  std::vector<std::int64_t> extents(x.shape().begin() + start, x.shape().begin() + end);
  return single_output(Tensor(DType::int64, {end - start}, std::move(extents)));
}

}  // namespace

const OpDef& op_shape() {
  static const OpDef def{.name = "Shape", .run = &run};
  return def;
}

}  // namespace assay::reference
