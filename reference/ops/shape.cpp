#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// `axis` counted from the front and clamped to [0, rank].
std::int64_t clamped(std::int64_t axis, std::int64_t rank) {
  return std::clamp(axis < 0 ? axis + rank : axis, std::int64_t{0}, rank);
}

/// What attributes start and end take of `extents`.
template <typename Extent>
std::vector<Extent> selected(const Node& node, const std::vector<Extent>& extents) {
  const auto rank = static_cast<std::int64_t>(extents.size());
  const std::int64_t start = clamped(node.int_or("start", 0), rank);
  const std::int64_t end = std::max(start, clamped(node.int_or("end", rank), rank));
  return {extents.begin() + start, extents.begin() + end};
}

Result<Facts> infer_shape(const ShapeCall& call) {
  TensorFacts facts = typed(DType::int64, Dims{Dimension()});
  if (call.in(0).shape) {
    facts.elements = selected(call.node, *call.in(0).shape);
    facts.shape = Dims{known(static_cast<std::int64_t>(facts.elements->size()))};
  }
  return Facts{facts};
}

// ONNX Shape-15: the extents of the axes [start, end).
Result<std::vector<Tensor>> run_shape(const OpCall& call) {
  std::vector<std::int64_t> extents = selected(call.node, call.in(0).shape());
  const auto count = static_cast<std::int64_t>(extents.size());
  return single_output(Tensor(DType::int64, {count}, std::move(extents)));
}

}  // namespace

const OpDef& op_shape() {
  static const OpDef def{.name = "Shape", .run = &run_shape, .infer = &infer_shape};
  return def;
}

}  // namespace assay::reference
