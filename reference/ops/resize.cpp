#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "reference/arguments.hpp"
#include "reference/resample.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kScalesOnly = 10;  // Resize-10: inputs X and scales, no choice of coordinates

/// The value that `attribute` names.
template <typename Value, std::size_t N>
Result<Value> choice(const Node& node, std::string_view attribute,
                     const std::array<std::pair<std::string_view, Value>, N>& choices) {
  const std::string wanted = node.string_or(attribute, choices.front().first);
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == wanted) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return op_error(fmt::format("{} is \"{}\", expected one of {}", attribute, wanted, known));
}

Result<ResampleRules> rules_of(const OpCall& call) {
  using enum Coordinates;
  // The first one is the default.
  constexpr std::array kModes{std::pair{std::string_view("nearest"), Interpolation::nearest},
                              std::pair{std::string_view("linear"), Interpolation::linear},
                              std::pair{std::string_view("cubic"), Interpolation::cubic}};
  constexpr std::array kCoordinates{std::pair{std::string_view("half_pixel"), half_pixel},
                                    std::pair{std::string_view("half_pixel_symmetric"), half_pixel_symmetric},
                                    std::pair{std::string_view("pytorch_half_pixel"), pytorch_half_pixel},
                                    std::pair{std::string_view("align_corners"), align_corners},
                                    std::pair{std::string_view("asymmetric"), asymmetric},
                                    std::pair{std::string_view("tf_half_pixel_for_nn"), tf_half_pixel_for_nn},
                                    std::pair{std::string_view("tf_crop_and_resize"), tf_crop_and_resize}};
  constexpr std::array kRoundings{std::pair{std::string_view("round_prefer_floor"), Rounding::prefer_floor},
                                  std::pair{std::string_view("round_prefer_ceil"), Rounding::prefer_ceil},
                                  std::pair{std::string_view("floor"), Rounding::floor},
                                  std::pair{std::string_view("ceil"), Rounding::ceil}};
  ResampleRules rules;
  const auto mode = choice(call.node, "mode", kModes);
  if (!mode) return mode.error();
  rules.mode = *mode;
  if (call.opset <= kScalesOnly) {
    rules.coordinates = asymmetric;
    rules.rounding = Rounding::outward;
    return rules;
  }
  const auto coordinates = choice(call.node, "coordinate_transformation_mode", kCoordinates);
  if (!coordinates) return coordinates.error();
  const auto rounding = choice(call.node, "nearest_mode", kRoundings);
  if (!rounding) return rounding.error();
  rules.coordinates = *coordinates;
  rules.rounding = *rounding;
  rules.cubic_coeff = call.node.float_or("cubic_coeff_a", rules.cubic_coeff);
  rules.exclude_outside = call.node.int_or("exclude_outside", 0) != 0;
  rules.antialias = call.node.int_or("antialias", 0) != 0;
  rules.extrapolation_value = call.node.float_or("extrapolation_value", 0.0);
  return rules;
}

/// The list in input `index`, one (or `each`) for every axis; empty where it is left out.
Result<std::vector<double>> numbers_for_axes(const OpCall& call, std::size_t index, std::size_t axes,
                                             std::size_t each) {
  if (!call.has_input(index) || call.in(index).size() == 0) return std::vector<double>();
  std::vector<double> list = call.in(index).to_reals();
  if (list.size() != axes * each) {
    return op_error(fmt::format("{} is {}, expected {} numbers for {} axes", input_text(call, index),
                                tensor_text(call.in(index)), axes * each, axes));
  }
  return list;
}

/// floor(extent * scale) in float32, as ONNX's own shape inference has it: float32's 0.7 times 10 is 7 and not 6.
Result<std::int64_t> scaled_extent(std::int64_t extent, double scale, std::int64_t axis) {
  if (!(scale > 0.0) || std::isinf(scale)) {
    return op_error(fmt::format("scale {} of axis {} is not positive and finite", scale, axis));
  }
  const float product = static_cast<float>(extent) * static_cast<float>(scale);
  if (!(product < static_cast<float>(kElementLimit))) {
    return op_error(fmt::format("scale {} makes extent {} of axis {} too large", scale, extent, axis));
  }
  return static_cast<std::int64_t>(std::floor(product));
}

core::Status set_scales(const Shape& shape, const std::vector<double>& scales, std::vector<AxisResample>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto extent = scaled_extent(shape[at(axes[i].axis)], scales[i], axes[i].axis);
    if (!extent) return extent.error();
    axes[i].extent = *extent;
    axes[i].scale_output = scales[i];
  }
  return core::success();
}

/// keep_aspect_ratio_policy: with not_larger (not_smaller) the smallest (largest) scale holds for every axis, and the
/// extents are rounded, halves up.
enum class Policy { stretch, not_larger, not_smaller };
Result<Policy> policy_of(const Node& node) {
  constexpr std::array kPolicies{std::pair{std::string_view("stretch"), Policy::stretch},
                                 std::pair{std::string_view("not_larger"), Policy::not_larger},
                                 std::pair{std::string_view("not_smaller"), Policy::not_smaller}};
  return choice(node, "keep_aspect_ratio_policy", kPolicies);
}

core::Status set_sizes(const Node& node, const Shape& shape, const std::vector<double>& sizes,
                       std::vector<AxisResample>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(sizes[i] >= 0.0 && sizes[i] <= static_cast<double>(kElementLimit))) {
      return op_error(fmt::format("size {} of axis {} is out of all proportion", sizes[i], axes[i].axis));
    }
    axes[i].extent = static_cast<std::int64_t>(sizes[i]);
    axes[i].scale_output = sizes[i];
    axes[i].scale_input = static_cast<double>(shape[at(axes[i].axis)]);
  }
  const auto policy = policy_of(node);
  if (!policy) return policy.error();
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (*policy == Policy::stretch || axes.empty() || empty) return core::success();
  AxisResample common = axes.front();
  for (const AxisResample& axis : axes) {
    // a / b against c / d, without dividing.
    const double left = axis.scale_output * common.scale_input;
    const double right = common.scale_output * axis.scale_input;
    if (*policy == Policy::not_larger ? left < right : left > right) common = axis;
  }
  for (AxisResample& axis : axes) {
    const double exact = axis.scale_input * common.scale_output / common.scale_input;
    if (!(exact < static_cast<double>(kElementLimit))) return op_error("the common scale makes an axis too large");
    axis.extent = static_cast<std::int64_t>(std::floor(exact + 0.5));
    axis.scale_output = common.scale_output;
    axis.scale_input = common.scale_input;
  }
  return core::success();
}

/// The axes that the node names, or all of `rank`.
Result<std::vector<std::int64_t>> named_axes(const Node& node, std::int64_t rank) {
  std::vector<std::int64_t> named = node.ints_or("axes");
  if (!node.has("axes")) {
    named.resize(at(rank));
    std::iota(named.begin(), named.end(), 0);
  }
  return checked_axes(named, rank);
}

/// The extents that `sizes` give to `axes` of x, as far as known.
core::Status resize_to(const ShapeCall& call, const Dims& sizes, const std::vector<std::int64_t>& axes, Dims& shape) {
  const auto policy = policy_of(call.node);
  if (!policy) return policy.error();
  const auto from = reference::sizes(shape);
  const auto to = reference::sizes(sizes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[at(axes[i])] = *policy == Policy::stretch ? sizes[i] : Dimension();
  }
  if (!from || !to) return core::success();
  std::vector<AxisResample> resampled;
  for (const std::int64_t axis : axes) resampled.push_back({.axis = axis});
  const auto set = set_sizes(call.node, *from, std::vector<double>(to->begin(), to->end()), resampled);
  for (const AxisResample& axis : resampled) shape[at(axis.axis)] = known(axis.extent);
  return set;
}

/// The extents that the constant `scales` give to `axes` of x.
core::Status scale_by(const std::vector<double>& scales, const std::vector<std::int64_t>& axes, Dims& shape) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dimension& extent = shape[at(axes[i])];
    const auto scaled = scaled_extent(extent.value.value_or(1), scales[i], axes[i]);
    if (!scaled) return scaled.error();
    if (extent.value || scales[i] != 1.0) extent = extent.value ? known(*scaled) : Dimension();
  }
  return core::success();
}

/// The list in input `index` is there: it is not left out, and not known to be empty, which means the same.
bool lists_something(const ShapeCall& call, std::size_t index) {
  return call.has_input(index) && call.in(index).size().value != 0;
}

Result<Facts> infer_resize(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const bool old = call.opset <= kScalesOnly;
  const std::size_t scales = old ? 1 : 2;
  const bool by_scales = lists_something(call, scales);
  const bool by_sizes = !old && lists_something(call, 3);
  const std::size_t index = by_sizes ? 3 : scales;
  const bool certain = call.has_input(index) && call.in(index).size().value;
  if (!x.shape) return one(x.type, std::nullopt);
  const auto axes = named_axes(call.node, *x.rank());
  if (!axes) return axes.error();
  if (by_scales == by_sizes && (certain || !by_scales) && !axes->empty()) {
    return op_error("expected one of scales and sizes, found both or none");
  }
  Dims shape = *x.shape;
  const auto count = static_cast<std::int64_t>(axes->size());
  if (certain && !may_equal(call.in(index).size(), known(count))) {
    return op_error(
        fmt::format("{} is {}, expected {} numbers", input_text(call, index), facts_text(call.in(index)), count));
  }
  const auto list = call.has_input(index) ? call.in(index).integers() : std::nullopt;
  const auto value = call.has_input(index) ? call.in(index).value : nullptr;
  core::Status status = core::success();
  if (by_sizes && list) {
    status = resize_to(call, *list, *axes, shape);
  } else if (!by_sizes && value != nullptr) {
    status = scale_by(value->to_reals(), *axes, shape);
  } else {
    for (const std::int64_t axis : *axes) shape[at(axis)] = {};
  }
  if (!status) return status.error();
  return one(x.type, std::move(shape));
}

/// The axes that the node names, or all, with their regions of interest.
Result<std::vector<AxisResample>> axes_of(const OpCall& call, Coordinates coordinates) {
  const auto checked = named_axes(call.node, call.in(0).rank());
  if (!checked) return checked.error();
  std::vector<AxisResample> axes;
  for (const std::int64_t axis : *checked) axes.push_back({.axis = axis, .extent = call.in(0).shape()[at(axis)]});
  if (coordinates != Coordinates::tf_crop_and_resize) return axes;
  const auto roi = numbers_for_axes(call, 1, axes.size(), 2);
  if (!roi) return roi.error();
  if (roi->empty()) return op_error("tf_crop_and_resize needs roi, which is empty or left out");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_start = (*roi)[i];
    axes[i].roi_end = (*roi)[axes.size() + i];
  }
  return axes;
}

// ONNX Resize-19, and Resize-10 (asymmetric coordinates).
Result<std::vector<Tensor>> run_resize(const OpCall& call) {
  const auto rules = rules_of(call);
  if (!rules) return rules.error();
  auto axes = axes_of(call, rules->coordinates);
  if (!axes) return axes.error();
  const bool old = call.opset <= kScalesOnly;
  const auto scales = numbers_for_axes(call, old ? 1 : 2, axes->size(), 1);
  if (!scales) return scales.error();
  const auto sizes =
      old ? Result<std::vector<double>>(std::vector<double>()) : numbers_for_axes(call, 3, axes->size(), 1);
  if (!sizes) return sizes.error();
  if (scales->empty() == sizes->empty() && !axes->empty()) {
    return op_error(fmt::format("{} scales and {} sizes; expected one of the two", scales->size(), sizes->size()));
  }
  const core::Status set = scales->empty() ? set_sizes(call.node, call.in(0).shape(), *sizes, *axes)
                                           : set_scales(call.in(0).shape(), *scales, *axes);
  if (!set) return set.error();
  return single_output(resample(call.in(0), *rules, *axes));
}

}  // namespace

const OpDef& op_resize() {
  static const OpDef def{
      .name = "Resize", .first_opset = 10, .max_inputs = 4, .run = &run_resize, .infer = &infer_resize};
  return def;
}

}  // namespace assay::reference
