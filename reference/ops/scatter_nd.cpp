#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX ScatterND-18: the data with blocks replaced by (or combined with) those of updates.
Result<std::vector<Tensor>> run_scatter_nd(const OpCall& call) {
  const Tensor& indices = call.in(1);
  const Tensor& updates = call.in(2);
  const auto blocks = blocks_at(call, 0);
  if (!blocks) return blocks.error();
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), blocks->shape.begin(), blocks->shape.end());
  if (updates.shape() != shape) {
    return op_error(
        fmt::format("updates are {}, expected the shape {}", tensor_text(updates), core::shape_text(shape)));
  }
  std::vector<std::int64_t> positions;
  for (const std::int64_t begin : blocks->begin) {
    for (std::int64_t i = 0; i < blocks->size; ++i) positions.push_back(begin + i);
  }
  return single_output(scattered(call.in(0), positions, updates, call.node.string_or("reduction", "none")));
}

Result<Facts> infer_scatter_nd(const ShapeCall& call) {
  const auto shape = blocks_dims(call, 0);
  if (!shape) return shape.error();
  if (const auto same = require_same_type(call, 0, 2); !same) return same.error();
  if (*shape) {
    if (const auto fits = require_shape(call, 2, **shape); !fits) return fits.error();
  }
  return infer_same(call);
}

}  // namespace

const OpDef& op_scatter_nd() {
  static const OpDef def{.name = "ScatterND",
                         .first_opset = 11,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_scatter_nd,
                         .infer = &infer_scatter_nd};
  return def;
}

}  // namespace assay::reference
