#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kCountIsAttribute = 18;

/// Equal parts; from opset 18 the last one may be smaller (num_outputs).
Result<std::vector<std::int64_t>> equal_parts(const OpCall& call, std::int64_t extent) {
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

// ONNX Split-18; sizes are an attribute before opset 13 and an input since.
Result<std::vector<Tensor>> run(const OpCall& call) {
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
  if (outputs.size() != sizes->size() || first != extent) {
    return op_error(fmt::format("split {} does not add up to extent {} of axis {} of {}", core::shape_text(*sizes),
                                extent, *axis, tensor_text(x)));
  }
  return outputs;
}

}  // namespace

const OpDef& op_split() {
  static const OpDef def{.name = "Split", .first_opset = 2, .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
