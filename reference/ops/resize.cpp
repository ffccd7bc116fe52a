#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "reference/arguments.hpp"
#include "reference/resample.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kScalesOnly = 10;  // Resize-10: inputs X and scales, no choice of coordinates

/// The value that `attribute` names.
template <typename Value, std::size_t N>
Result<Value> choice(const OpCall& call, std::string_view attribute,
                     const std::array<std::pair<std::string_view, Value>, N>& choices) {
  const std::string wanted = call.node.string_or(attribute, choices.front().first);
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
  const auto mode = choice(call, "mode", kModes);
  if (!mode) return mode.error();
  rules.mode = *mode;
  if (call.opset <= kScalesOnly) {
    rules.coordinates = asymmetric;
    rules.rounding = Rounding::outward;
    return rules;
  }
  const auto coordinates = choice(call, "coordinate_transformation_mode", kCoordinates);
  if (!coordinates) return coordinates.error();
  const auto rounding = choice(call, "nearest_mode", kRoundings);
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

core::Status set_scales(const Tensor& x, const std::vector<double>& scales, std::vector<AxisResample>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0.0) || std::isinf(scales[i])) {
      return op_error(fmt::format("scale {} of axis {} is not positive and finite", scales[i], axes[i].axis));
    }
    // floor(input * scale) in float32, as ONNX's own shape inference has it: float32's 0.7 times 10 is 7 and not 6.
    const float product = static_cast<float>(x.shape()[at(axes[i].axis)]) * static_cast<float>(scales[i]);
    if (!(product < static_cast<float>(kElementLimit))) {
      return op_error(
          fmt::format("scale {} makes {} too large along axis {}", scales[i], tensor_text(x), axes[i].axis));
    }
    axes[i].extent = static_cast<std::int64_t>(std::floor(product));
    axes[i].scale_output = scales[i];
  }
  return core::success();
}

/// keep_aspect_ratio_policy: with not_larger (not_smaller) the smallest (largest) scale holds for every axis, and the
/// extents are rounded, halves up.
core::Status set_sizes(const OpCall& call, const std::vector<double>& sizes, std::vector<AxisResample>& axes) {
  const Tensor& x = call.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(sizes[i] >= 0.0 && sizes[i] <= static_cast<double>(kElementLimit))) {
      return op_error(fmt::format("size {} of axis {} is out of all proportion", sizes[i], axes[i].axis));
    }
    axes[i].extent = static_cast<std::int64_t>(sizes[i]);
    axes[i].scale_output = sizes[i];
    axes[i].scale_input = static_cast<double>(x.shape()[at(axes[i].axis)]);
  }
  enum class Policy { stretch, not_larger, not_smaller };
  constexpr std::array kPolicies{std::pair{std::string_view("stretch"), Policy::stretch},
                                 std::pair{std::string_view("not_larger"), Policy::not_larger},
                                 std::pair{std::string_view("not_smaller"), Policy::not_smaller}};
  const auto policy = choice(call, "keep_aspect_ratio_policy", kPolicies);
  if (!policy) return policy.error();
  if (*policy == Policy::stretch || axes.empty() || x.size() == 0) return core::success();
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

/// The axes that the node names, or all, with their regions of interest.
Result<std::vector<AxisResample>> axes_of(const OpCall& call, Coordinates coordinates) {
  const std::int64_t rank = call.in(0).rank();
  std::vector<std::int64_t> named = call.node.ints_or("axes");
  if (!call.node.has("axes")) {
    named.resize(at(rank));
    std::iota(named.begin(), named.end(), 0);
  }
  const auto checked = checked_axes(named, rank);
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
Result<std::vector<Tensor>> run(const OpCall& call) {
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
  const core::Status set = scales->empty() ? set_sizes(call, *sizes, *axes) : set_scales(call.in(0), *scales, *axes);
  if (!set) return set.error();
  return single_output(resample(call.in(0), *rules, *axes));
}

}  // namespace

const OpDef& op_resize() {
  static const OpDef def{.name = "Resize", .first_opset = 10, .max_inputs = 4, .run = &run};
  return def;
}

}  // namespace assay::reference
