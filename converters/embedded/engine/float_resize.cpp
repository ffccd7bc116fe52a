// Resize (and Upsample): nearest, linear and cubic, every coordinate transformation, antialias.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "converters/embedded/engine/resize.hpp"

namespace assay::embedded::engine {
namespace {

using Mode = ResizeAttributes::Mode;

/// One dimension being resized.
struct Axis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1;
  bool by_size = false;  ///< scale is out / in: the extents are exact where their ratio is not
  double roi_start = 0;
  double roi_end = 1;
};

double unscaled(const Axis& axis, double x) {
  return axis.by_size ? x * static_cast<double>(axis.in) / static_cast<double>(axis.out) : x / axis.scale;
}

/// Where output position `at` lies in the input.
double input_coordinate(const ResizeAttributes& attributes, const Axis& axis, std::int64_t at) {
  const auto x = static_cast<double>(at);
  const auto in = static_cast<double>(axis.in);
  // Before it is rounded down to a whole extent.
  const double out = axis.by_size ? static_cast<double>(axis.out) : axis.scale * in;
  const std::string& mode = attributes.coordinates;
  if (mode == "asymmetric") return unscaled(axis, x);
  if (mode == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel") return axis.out > 1 ? unscaled(axis, x + 0.5) - 0.5 : 0;
  if (mode == "tf_half_pixel_for_nn") return unscaled(axis, x + 0.5);
  if (mode == "tf_crop_and_resize") {
    if (axis.out > 1) {
      return axis.roi_start * (in - 1) + x * (axis.roi_end - axis.roi_start) * (in - 1) / (out - 1);
    }
    return 0.5 * (axis.roi_start + axis.roi_end) * (in - 1);
  }
  const double half_pixel = unscaled(axis, x + 0.5) - 0.5;
  if (mode != "half_pixel_symmetric") return half_pixel;
  // The whole extent is as if cut from the middle of the exact one.
  const double adjustment = static_cast<double>(axis.out) / out;
  return in / 2 * (1 - adjustment) + half_pixel;
}

double cubic_weight(double distance, double a) {
  distance = std::abs(distance);
  if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  if (distance < 2) return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  return 0;
}

std::int64_t nearest_index(double x, const std::string& mode) {
  if (mode == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  return static_cast<std::int64_t>(std::ceil(x - 0.5));
}

/// The taps at coordinate `x`: positions around it with the kernel's weights, positions outside clamped to the edge
/// or left out.
Tap tap_at(const ResizeAttributes& attributes, const Axis& axis, double x) {
  Tap tap;
  if (attributes.mode == Mode::nearest) {
    tap.sources = {std::clamp<std::int64_t>(nearest_index(x, attributes.nearest), 0, axis.in - 1)};
    tap.weights = {1};
    return tap;
  }
  // With antialias a shrinking kernel is stretched to see every input position.
  const double stretch = attributes.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double radius = (attributes.mode == Mode::linear ? 1 : 2) / stretch;
  const auto first = static_cast<std::int64_t>(std::floor(x - radius)) + 1;
  const auto last = static_cast<std::int64_t>(std::ceil(x + radius)) - 1;
  const bool leaves_out = attributes.excludes_outside || attributes.antialias;
  double total = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    const double distance = (static_cast<double>(i) - x) * stretch;
    double weight = attributes.mode == Mode::linear ? std::max(0.0, 1 - std::abs(distance))
                                                    : cubic_weight(distance, attributes.cubic_coefficient);
    if (attributes.excludes_outside && (i < 0 || i >= axis.in)) weight = 0;
    if (weight == 0) continue;
    tap.sources.push_back(std::clamp<std::int64_t>(i, 0, axis.in - 1));
    tap.weights.push_back(weight);
    total += weight;
  }
  if (leaves_out && total != 0) {
    for (double& weight : tap.weights) weight /= total;
  }
  return tap;
}

std::vector<Tap> taps_of(const ResizeAttributes& attributes, const Axis& axis) {
  const bool crops = attributes.coordinates == "tf_crop_and_resize";
  std::vector<Tap> taps;
  for (std::int64_t at = 0; at < axis.out; ++at) {
    const double x = input_coordinate(attributes, axis, at);
    const bool outside = crops && (x < 0 || x > static_cast<double>(axis.in - 1));
    taps.push_back(outside ? Tap{} : tap_at(attributes, axis, x));
  }
  return taps;
}

std::vector<double> reals(const Buffer& buffer) {
  std::vector<double> values;
  for (const float value : buffer.span<float>()) values.push_back(static_cast<double>(value));
  return values;
}

/// The input of that role, by version: Upsample and Resize-10 have scales second, Resize-11 roi, scales, sizes.
const Buffer* operand(const Call& call, std::size_t index) {
  return call.has(index) && call.input(index).size() > 0 ? &call.input(index) : nullptr;
}

Result<Kernel> make_resize(const Binding& binding) {
  auto attributes = read_resize_attributes(binding.node, binding.opset);
  if (!attributes) return attributes.error();
  return Kernel([attributes = *attributes](const Call& call) -> Status {
    if (!call.has(0)) return invalid_model("input 0 is left out, but required");
    const Buffer& x = call.input(0);
    auto plan = bind_resize(attributes, call);
    if (!plan) return plan.error();
    call.outputs[0] = Buffer(x.type(), plan->out_shape);
    if (attributes.mode == Mode::nearest && attributes.coordinates != "tf_crop_and_resize") {
      resize_nearest(*plan, x, call.outputs[0]);
      return core::success();
    }
    if (auto status = expect_inputs(call, 1, DType::float32); !status) return status;
    const auto in = x.span<float>();
    const auto out =
        resize<float>(*plan, x.shape(), {in.begin(), in.end()}, static_cast<float>(attributes.extrapolation));
    std::ranges::copy(out, call.outputs[0].data<float>());
    return core::success();
  });
}

}  // namespace

Result<ResizeAttributes> read_resize_attributes(const Node& node, std::int64_t opset) {
  ResizeAttributes attributes;
  attributes.opset = opset;
  attributes.is_upsample = node.op_type == "Upsample";
  const std::string mode = node.string_or("mode", "nearest");
  if (mode == "nearest") {
    attributes.mode = Mode::nearest;
  } else if (mode == "linear" || mode == "bilinear") {
    attributes.mode = Mode::linear;
  } else if (mode == "cubic") {
    attributes.mode = Mode::cubic;
  } else {
    return invalid_model(fmt::format("mode \"{}\" is not one of nearest, linear, cubic", mode));
  }
  // Before version 11 positions were x / scale, the nearest the one below.
  const bool old = attributes.is_upsample || opset < 11;
  attributes.coordinates = old ? "asymmetric" : node.string_or("coordinate_transformation_mode", "half_pixel");
  attributes.nearest = old ? "floor" : node.string_or("nearest_mode", "round_prefer_floor");
  const auto is_one_of = [](const std::string& word, std::initializer_list<const char*> words) {
    return std::ranges::any_of(words, [&](const char* candidate) { return word == candidate; });
  };
  if (!is_one_of(attributes.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                          "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"})) {
    return unsupported(fmt::format("coordinate_transformation_mode \"{}\"", attributes.coordinates));
  }
  if (!is_one_of(attributes.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return unsupported(fmt::format("nearest_mode \"{}\"", attributes.nearest));
  }
  attributes.aspect = node.string_or("keep_aspect_ratio_policy", "stretch");
  attributes.cubic_coefficient = node.float_or("cubic_coeff_a", -0.75);
  attributes.excludes_outside = node.int_or("exclude_outside", 0) != 0;
  attributes.antialias = node.int_or("antialias", 0) != 0;
  attributes.extrapolation = node.float_or("extrapolation_value", 0);
  attributes.axes = node.ints_or("axes");
  return attributes;
}

Result<ResizePlan> bind_resize(const ResizeAttributes& attributes, const Call& call) {
  const Shape& shape = call.input(0).shape();
  const bool old = attributes.is_upsample || attributes.opset < 11;
  const Buffer* roi = old ? nullptr : operand(call, 1);
  const Buffer* scales = operand(call, old ? 1 : 2);
  const Buffer* sizes = old ? nullptr : operand(call, 3);
  if ((scales == nullptr) == (sizes == nullptr)) return invalid_data("exactly one of scales and sizes must be given");
  if (scales != nullptr && scales->type() != DType::float32) return invalid_data("scales must be float");
  std::vector<std::int64_t> axes = attributes.axes;
  if (axes.empty()) {
    axes.resize(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const auto listed = static_cast<std::size_t>(scales != nullptr ? scales->size() : sizes->size());
  if (listed != axes.size()) return invalid_data(fmt::format("{} scales or sizes for {} axes", listed, axes.size()));
  const std::vector<double> regions =
      roi != nullptr && roi->type() == DType::float32 ? reals(*roi) : std::vector<double>{};
  ResizePlan plan;
  plan.out_shape = shape;
  plan.taps.resize(shape.size());
  std::vector<Axis> resized;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto resolved = resolve_axis(axes[i], std::ssize(shape));
    if (!resolved) return resolved.error();
    axes[i] = *resolved;
    Axis axis;
    axis.in = shape[static_cast<std::size_t>(*resolved)];
    if (regions.size() == 2 * axes.size()) {
      axis.roi_start = regions[i];
      axis.roi_end = regions[axes.size() + i];
    }
    if (scales != nullptr) {
      axis.scale = static_cast<double>(scales->data<float>()[i]);
      const double region = attributes.coordinates == "tf_crop_and_resize" ? axis.roi_end - axis.roi_start : 1.0;
      axis.out = static_cast<std::int64_t>(std::floor(static_cast<double>(axis.in) * region * axis.scale));
    } else {
      axis.out = sizes->to_integers()[i];
      axis.scale = static_cast<double>(axis.out) / static_cast<double>(std::max<std::int64_t>(axis.in, 1));
      axis.by_size = attributes.aspect == "stretch";
    }
    const bool stays_empty = axis.in == 0 && axis.out == 0;
    if (!stays_empty && (axis.in < 1 || axis.out < 1 || !(axis.scale > 0))) {
      return invalid_data(fmt::format("an extent of {} can't be resized to {}", axis.in, axis.out));
    }
    resized.push_back(axis);
  }
  if (sizes != nullptr && attributes.aspect != "stretch") {
    const auto by_scale = [](const Axis& a, const Axis& b) { return a.scale < b.scale; };
    const double scale = attributes.aspect == "not_larger" ? std::ranges::min_element(resized, by_scale)->scale
                                                           : std::ranges::max_element(resized, by_scale)->scale;
    for (Axis& axis : resized) {
      axis.scale = scale;
      axis.out = static_cast<std::int64_t>(std::floor(static_cast<double>(axis.in) * scale + 0.5));
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    plan.out_shape[d] = resized[i].out;
    const bool changes =
        resized[i].out != resized[i].in || resized[i].scale != 1 || attributes.coordinates == "tf_crop_and_resize";
    if (changes) plan.taps[d] = taps_of(attributes, resized[i]);
  }
  return plan;
}

void resize_nearest(const ResizePlan& plan, const Buffer& x, Buffer& out) {
  const std::size_t rank = x.shape().size();
  const auto strides = row_major_strides(x.shape());
  std::vector<std::vector<std::int64_t>> offsets(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    for (std::int64_t i = 0; i < plan.out_shape[d]; ++i) {
      const std::int64_t source = plan.taps[d].empty() ? i : plan.taps[d][static_cast<std::size_t>(i)].sources[0];
      offsets[d].push_back(source * strides[d]);
    }
  }
  with_element_width(x.type(), [&](auto element) {
    using Element = decltype(element);
    const auto* in = x.data<Element>();
    auto* target = out.data<Element>();
    if (rank == 0) {
      *target = *in;
      return;
    }
    std::vector<std::size_t> position(rank, 0);
    const auto& last = offsets[rank - 1];
    for (std::int64_t done = 0; done < out.size(); done += std::ssize(last)) {
      std::int64_t base = 0;
      for (std::size_t d = 0; d + 1 < rank; ++d) base += offsets[d][position[d]];
      for (const std::int64_t offset : last) *target++ = in[base + offset];
      for (std::size_t d = rank - 1; d-- > 0;) {
        if (++position[d] < offsets[d].size()) break;
        position[d] = 0;
      }
    }
  });
}

void add_resize_makers(MakerTable& table) {
  table["Resize"] = &make_resize;
  table["Upsample"] = &make_resize;
}

}  // namespace assay::embedded::engine
