#include "reference/arguments.hpp"
#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX GatherND-13: the last axis of indices holds the leading coordinates of what is taken.
Result<std::vector<Tensor>> run_gather_nd(const OpCall& call) {
  const Tensor& indices = call.in(1);
  const auto blocks = blocks_at(call, call.node.int_or("batch_dims", 0));
  if (!blocks) return blocks.error();
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), blocks->shape.begin(), blocks->shape.end());
  if (const auto count = checked_count(shape); !count) return count.error();
  std::vector<std::int64_t> positions;
  for (const std::int64_t begin : blocks->begin) {
    for (std::int64_t i = 0; i < blocks->size; ++i) positions.push_back(begin + i);
  }
  return single_output(elements_at(call.in(0), positions, shape));
}

Result<Facts> infer_gather_nd(const ShapeCall& call) {
  auto shape = blocks_dims(call, call.node.int_or("batch_dims", 0));
  if (!shape) return shape.error();
  return one(call.in(0).type, std::move(*shape));
}

}  // namespace

const OpDef& op_gather_nd() {
  static const OpDef def{.name = "GatherND",
                         .first_opset = 11,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_gather_nd,
                         .infer = &infer_gather_nd};
  return def;
}

}  // namespace assay::reference
