#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Concat-13.
Result<std::vector<Tensor>> run_concat(const OpCall& call) {
  if (!call.node.has("axis")) return op_error("axis is missing");
  const auto axis = checked_axis(call.node.int_or("axis", 0), call.in(0).rank());
  if (!axis) return axis.error();
  std::vector<const Tensor*> parts;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
    parts.push_back(call.inputs[i]);
  }
  return single_output(concatenated(parts, *axis));
}

Result<Facts> infer_concat(const ShapeCall& call) {
  if (!call.node.has("axis")) return op_error("axis is missing");
  std::vector<const Dims*> parts;
  std::optional<std::int64_t> rank;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
    parts.push_back(call.in(i).shape ? &*call.in(i).shape : nullptr);
    if (!rank) rank = call.in(i).rank();
  }
  if (const auto same = require_one_type(call, call.inputs.size()); !same) return same.error();
  if (!rank) return one(call.in(0).type, std::nullopt);
  const auto axis = checked_axis(call.node.int_or("axis", 0), *rank);
  if (!axis) return axis.error();
  auto shape = concatenated_dims(parts, *axis);
  if (!shape) return shape.error();
  return one(call.in(0).type, std::move(*shape));
}

}  // namespace

const OpDef& op_concat() {
  static const OpDef def{.name = "Concat",
                         .first_opset = 4,
                         .max_inputs = kAnyNumber,
                         .run = &run_concat,
                         .infer = &infer_concat,
                         .data = DataFlow::moves_all};
  return def;
}

}  // namespace assay::reference
