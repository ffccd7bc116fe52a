#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/cast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<Facts> infer_one_hot(const ShapeCall& call) {
  const auto depth = scalar_argument(call, 1);
  if (!depth) return depth.error();
  if (*depth && !(**depth >= 1.0 && **depth <= static_cast<double>(kElementLimit))) {
    return op_error(fmt::format("depth {} is not a possible extent", **depth));
  }
  if (const auto pair = require_shape(call, 2, {known(2)}); !pair) return pair.error().within("values [off, on]");
  const TensorFacts& indices = call.in(0);
  if (!indices.shape) return one(call.in(2).type, std::nullopt);
  const auto axis = checked_axis(call.node.int_or("axis", -1), *indices.rank() + 1);
  if (!axis) return axis.error();
  Dims shape = *indices.shape;
  shape.insert(shape.begin() + *axis, *depth ? known(static_cast<std::int64_t>(**depth)) : Dimension());
  return one(call.in(2).type, std::move(shape));
}

// ONNX OneHot-11: a new axis of extent depth that holds values[1] where the index says, values[0] elsewhere. Negative
// indices count from the end; one outside of [-depth, depth) marks nothing.
Result<std::vector<Tensor>> run_one_hot(const OpCall& call) {
  const Tensor& values = call.in(2);
  const auto shape = ruled_shape(call, &infer_one_hot);
  if (!shape) return shape.error();
  const auto axis = checked_axis(call.node.int_or("axis", -1), call.in(0).rank() + 1);
  if (!axis) return axis.error();
  const std::int64_t depth = (*shape)[at(*axis)];
  const std::vector<std::int64_t> indices = cast(call.in(0), DType::int64).to_integers();
  const AxisSplit split = split_at_axis(*shape, *axis);
  std::vector<std::int64_t> marked(at(core::element_count(*shape)), 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t index = indices[i];
    if (index < -depth || index >= depth) continue;
    const auto position = static_cast<std::int64_t>(i);
    const std::int64_t outer = position / split.inner;
    const std::int64_t code = index < 0 ? index + depth : index;
    marked[at((outer * depth + code) * split.inner + position % split.inner)] = 1;
  }
  if (!values.is_real()) {
    for (std::int64_t& mark : marked) mark = values.integers()[at(mark)];
    return single_output(Tensor(values.type(), *shape, std::move(marked)));
  }
  std::vector<double> result(marked.size());
  for (std::size_t i = 0; i < marked.size(); ++i) result[i] = values.reals()[at(marked[i])];
  return single_output(Tensor(values.type(), *shape, std::move(result)));
}

}  // namespace

const OpDef& op_one_hot() {
  static const OpDef def{.name = "OneHot",
                         .first_opset = 9,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_one_hot,
                         .infer = &infer_one_hot};
  return def;
}

}  // namespace assay::reference
