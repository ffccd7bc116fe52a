#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kCountIsAttribute = 18;

/// Equal parts; from opset 18 the last one may be smaller (num_outputs).
template <typename Call>
Result<std::vector<std::int64_t>> equal_parts(const Call& call, std::int64_t extent) {
  const auto outputs = static_cast<std::int64_t>(call.node.outputs.size());
  if (call.opset < kCountIsAttribute && outputs > 0 && extent % outputs != 0) {
    return op_error(fmt::format("extent {} does not split into {} equal parts", extent, outputs));
  }
  const std::int64_t parts = call.opset >= kCountIsAttribute ? call.node.int_or("num_outputs", outputs) : outputs;
  if (parts < 1 || parts != outputs) {
    return op_error(fmt::format("num_outputs is {}, the node has {} outputs", parts, outputs));
  }
  const std::int64_t size = extent / parts + (extent % parts != 0 ? 1 : 0);
  std::vector<std::int64_t> sizes(at(parts), size);
  sizes.back() = extent - size * (parts - 1);
  if (sizes.back() < 0) return op_error(fmt::format("extent {} does not split into {} parts", extent, parts));
  return sizes;
}

Result<Facts> infer_split(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto axis = axis_argument(call, "axis", 0);
  if (!axis) return axis.error();
  const auto given = list_argument(call, "split", 1);
  if (!given) return given.error();
  const Dimension extent = *axis ? extent_of(x, at(**axis)) : Dimension();
  Dims parts = given->elements.value_or(unknown_dims(call.node.outputs.size()));
  if (!given->given && extent.value) {
    const auto equal = equal_parts(call, *extent.value);
    if (!equal) return equal.error();
    parts = dims_of(*equal);
  }
  if (parts.size() < call.node.outputs.size() || !may_equal(sum(parts), extent)) {
    return op_error(fmt::format("split {} does not add up to extent {} of {}, or to {} outputs", dims_text(parts),
                                dim_text(extent), facts_text(x), call.node.outputs.size()));
  }
  Facts outputs;
  for (const Dimension& part : parts) {
    if (part.value && *part.value < 0) return op_error(fmt::format("split {} has a negative part", dims_text(parts)));
    outputs.push_back(typed(x.type, with_extent(x.shape, *axis, part)));
  }
  return outputs;
}

// ONNX Split-18; sizes are an attribute before opset 13 and an input since.
Result<std::vector<Tensor>> run_split(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto axis = checked_axis(call.node.int_or("axis", 0), x.rank());
  if (!axis) return axis.error();
  const std::int64_t extent = x.shape()[at(*axis)];
  auto given = list_argument(call, "split", 1);
  if (!given) return given.error();
  auto sizes = *given ? Result<std::vector<std::int64_t>>(**given) : equal_parts(call, extent);
  if (!sizes) return sizes.error();
  std::int64_t first = 0;
  std::vector<Tensor> outputs;
  for (const std::int64_t size : *sizes) {
    if (size < 0 || size > extent - first) break;
    auto part = take_range(x, *axis, first, size);
    if (!part) return part.error();
    outputs.push_back(std::move(*part));
    first += size;
  }
  const std::size_t wanted = call.node.outputs.size();
  if (outputs.size() != sizes->size() || outputs.size() < wanted || first != extent) {
    return op_error(fmt::format("split {} does not add up to extent {} of axis {} of {}, or to {} outputs",
                                core::shape_text(*sizes), extent, *axis, tensor_text(x), wanted));
  }
  return outputs;
}

}  // namespace

const OpDef& op_split() {
  static const OpDef def{.name = "Split",
                         .first_opset = 2,
                         .max_inputs = 2,
                         .run = &run_split,
                         .infer = &infer_split,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
