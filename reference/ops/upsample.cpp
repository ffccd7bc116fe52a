#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/resample.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kScalesAreInput = 9;

Result<std::vector<double>> scales_of(const OpCall& call) {
  if (call.opset < kScalesAreInput) return call.node.floats_or("scales");
  if (!call.has_input(1)) return op_error("scales are missing");
  return call.in(1).to_reals();
}

/// floor(extent * scale).
Result<std::int64_t> upsampled_extent(std::int64_t extent, double scale, std::int64_t axis) {
  const double exact = static_cast<double>(extent) * scale;
  if (!(scale >= 1.0) || !(exact < static_cast<double>(kElementLimit))) {
    return op_error(fmt::format("scale {} of axis {} of extent {} is below 1 or too large", scale, axis, extent));
  }
  return static_cast<std::int64_t>(std::floor(exact));
}

Result<Facts> infer_upsample(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const bool is_input = call.opset >= kScalesAreInput;
  if (is_input && !call.has_input(1)) return op_error("scales are missing");
  if (!x.shape) return one(x.type, std::nullopt);
  if (is_input && call.in(1).value == nullptr) return one(x.type, unknown_dims(x.shape->size()));
  const std::vector<double> scales = is_input ? call.in(1).value->to_reals() : call.node.floats_or("scales");
  if (scales.size() != x.shape->size()) {
    return op_error(fmt::format("{} scales for {}, expected one for each axis", scales.size(), facts_text(x)));
  }
  Dims shape = *x.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto extent = upsampled_extent(shape[axis].value.value_or(1), scales[axis], static_cast<std::int64_t>(axis));
    if (!extent) return extent.error();
    if (shape[axis].value) {
      shape[axis] = known(*extent);
    } else if (scales[axis] != 1.0) {
      shape[axis] = {};
    }
  }
  return one(x.type, std::move(shape));
}

// ONNX Upsample-9 (until opset 9, then Resize): output coordinate / scale, rounded down for nearest.
Result<std::vector<Tensor>> run_upsample(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::string mode = call.node.string_or("mode", "nearest");
  if (mode != "nearest" && mode != "linear") {
    return op_error(fmt::format("mode is \"{}\", expected nearest or linear", mode));
  }
  const auto scales = scales_of(call);
  if (!scales) return scales.error();
  if (scales->size() != x.shape().size()) {
    return op_error(fmt::format("{} scales for {}, expected one for each axis", scales->size(), tensor_text(x)));
  }
  std::vector<AxisResample> axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const double scale = (*scales)[at(axis)];
    const auto extent = upsampled_extent(x.shape()[at(axis)], scale, axis);
    if (!extent) return extent.error();
    axes.push_back({.axis = axis, .extent = *extent, .scale_output = scale});
  }
  const ResampleRules rules{.mode = mode == "nearest" ? Interpolation::nearest : Interpolation::linear,
                            .coordinates = Coordinates::asymmetric,
                            .rounding = Rounding::floor};
  return single_output(resample(x, rules, axes));
}

}  // namespace

const OpDef& op_upsample() {
  static const OpDef def{.name = "Upsample",
                         .first_opset = 7,
                         .last_opset = 9,
                         .max_inputs = 2,
                         .run = &run_upsample,
                         .infer = &infer_upsample};
  return def;
}

}  // namespace assay::reference
