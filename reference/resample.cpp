#include "reference/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

/// An axis that keeps its extent at scale 1 stays as it is, unless a region of interest moves it.
bool unchanged(const AxisResample& to, std::int64_t extent, Coordinates mode) {
  return to.extent == extent && to.scale_output == to.scale_input && mode != Coordinates::tf_crop_and_resize;
}

/// A coordinate that tf_crop_and_resize fills with extrapolation_value.
bool outside(double coordinate, std::int64_t extent, Coordinates mode) {
  const bool inside = coordinate >= 0.0 && coordinate <= static_cast<double>(extent - 1);
  return mode == Coordinates::tf_crop_and_resize && !inside;
}

double rounded(double coordinate, Rounding rounding, bool shrinking) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return std::ceil(coordinate - 0.5);
    case Rounding::prefer_ceil:
      return std::floor(coordinate + 0.5);
    case Rounding::floor:
      return std::floor(coordinate);
    case Rounding::ceil:
      return std::ceil(coordinate);
    case Rounding::outward:
      break;
  }
  return shrinking ? std::ceil(coordinate) : std::floor(coordinate);
}

Result<Tensor> resample_nearest(const Tensor& x, const ResampleRules& rules, const std::vector<AxisResample>& axes) {
  AxisMap map = AxisMap::identity(x.shape());
  for (const AxisResample& to : axes) {
    if (unchanged(to, x.shape()[at(to.axis)], rules.coordinates)) continue;
    const std::vector<std::int64_t> from = std::move(map.axes[at(to.axis)]);
    const auto extent = static_cast<std::int64_t>(from.size());
    std::vector<std::int64_t>& table = map.axes[at(to.axis)];
    table.clear();
    for (std::int64_t i = 0; i < to.extent; ++i) {
      const double coordinate = original_coordinate(i, extent, to, rules.coordinates);
      if (outside(coordinate, extent, rules.coordinates)) {
        table.push_back(AxisMap::kOutside);
        continue;
      }
      const double nearest = rounded(coordinate, rules.rounding, to.scale_output < to.scale_input);
      const double clamped = std::clamp(nearest, 0.0, static_cast<double>(extent - 1));
      table.push_back(from[at(static_cast<std::int64_t>(clamped))]);
    }
  }
  const double fill = rules.extrapolation_value;
  return take(x, map, fill, x.is_real() ? 0 : truncate_to(fill, x.type()));
}

/// The weight of an element at `distance` from the coordinate: the tent, or Keys' cubic with coefficient a.
double kernel(double distance, const ResampleRules& rules) {
  const double d = std::abs(distance);
  if (rules.mode == Interpolation::linear) return std::max(0.0, 1.0 - d);
  const double a = rules.cubic_coeff;
  if (d <= 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  if (d < 2.0) return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
  return 0.0;
}

struct Tap {
  std::int64_t index;
  double weight;
};

/// The elements that make one element of the result, and by what weights. None: extrapolation_value.
std::vector<Tap> taps_at(double coordinate, std::int64_t extent, const AxisResample& to, const ResampleRules& rules) {
  std::vector<Tap> taps;
  if (outside(coordinate, extent, rules.coordinates)) return taps;
  // antialias: the kernel is stretched by max(1, 1 / scale).
  const double squeeze = rules.antialias ? std::min(1.0, to.scale_output / to.scale_input) : 1.0;
  const double reach = (rules.mode == Interpolation::linear ? 1.0 : 2.0) / squeeze;
  const auto first = static_cast<std::int64_t>(std::floor(coordinate - reach)) + 1;
  const auto last = static_cast<std::int64_t>(std::ceil(coordinate + reach)) - 1;
  double sum = 0.0;
  for (std::int64_t i = first; i <= last; ++i) {
    const bool beyond = i < 0 || i >= extent;
    if (beyond && rules.exclude_outside) continue;
    const double weight = kernel((static_cast<double>(i) - coordinate) * squeeze, rules);
    taps.push_back({std::clamp<std::int64_t>(i, 0, extent - 1), weight});
    sum += weight;
  }
  if (rules.exclude_outside && taps.empty()) {
    // Nothing within reach: the nearest edge is all there is.
    taps.push_back({coordinate < 0.0 ? 0 : extent - 1, 1.0});
  } else if (rules.exclude_outside || rules.antialias) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

std::vector<double> resample_axis(const std::vector<double>& values, const Shape& shape, const AxisResample& to,
                                  const ResampleRules& rules) {
  const AxisSplit split = split_at_axis(shape, to.axis);
  std::vector<double> result(at(split.outer * to.extent * split.inner), 0.0);
  for (std::int64_t i = 0; i < to.extent; ++i) {
    const double coordinate = original_coordinate(i, split.extent, to, rules.coordinates);
    const std::vector<Tap> taps = taps_at(coordinate, split.extent, to, rules);
    for (std::int64_t outer = 0; outer < split.outer; ++outer) {
      double* line = result.data() + (outer * to.extent + i) * split.inner;
      if (taps.empty()) std::fill_n(line, split.inner, rules.extrapolation_value);
      for (const Tap& tap : taps) {
        const double* from = values.data() + (outer * split.extent + tap.index) * split.inner;
        for (std::int64_t k = 0; k < split.inner; ++k) line[k] += tap.weight * from[k];
      }
    }
  }
  return result;
}

Result<Tensor> interpolate(const Tensor& x, const ResampleRules& rules, const std::vector<AxisResample>& axes) {
  std::vector<double> values = x.to_reals();
  Shape shape = x.shape();
  for (const AxisResample& to : axes) {
    if (unchanged(to, shape[at(to.axis)], rules.coordinates)) continue;
    values = resample_axis(values, shape, to, rules);
    shape[at(to.axis)] = to.extent;
  }
  if (x.is_real()) return Tensor(x.type(), shape, std::move(values));
  std::vector<std::int64_t> integers(values.size());
  std::ranges::transform(values, integers.begin(), [&](double value) { return truncate_to(value, x.type()); });
  return Tensor(x.type(), shape, std::move(integers));
}

}  // namespace

double original_coordinate(std::int64_t index, std::int64_t extent, const AxisResample& to, Coordinates mode) {
  const auto i = static_cast<double>(index);
  const auto length_original = static_cast<double>(extent);
  const auto length_resized = static_cast<double>(to.extent);
  const auto unscaled = [&](double position) { return position * to.scale_input / to.scale_output; };
  switch (mode) {
    case Coordinates::half_pixel:
      return unscaled(i + 0.5) - 0.5;
    case Coordinates::half_pixel_symmetric:
      // center * (1 - adjustment) + (i + 0.5) / scale - 0.5 with adjustment = length_resized / (length_original *
      // scale), put over one denominator, so that a coordinate that is whole comes out whole.
      return (length_original - 1.0) / 2.0 + unscaled(2.0 * i + 1.0 - length_resized) / 2.0;
    case Coordinates::pytorch_half_pixel:
      return to.extent > 1 ? unscaled(i + 0.5) - 0.5 : 0.0;
    case Coordinates::align_corners: {
      // Before it is made whole: the stored expectations of ONNX's node cases hold only with this length.
      const double exact_length = length_original * to.scale_output / to.scale_input;
      return to.extent > 1 ? i * (length_original - 1.0) / (exact_length - 1.0) : 0.0;
    }
    case Coordinates::asymmetric:
      return unscaled(i);
    case Coordinates::tf_half_pixel_for_nn:
      return unscaled(i + 0.5);
    case Coordinates::tf_crop_and_resize:
      break;
  }
  if (to.extent <= 1) return 0.5 * (to.roi_start + to.roi_end) * (length_original - 1.0);
  return to.roi_start * (length_original - 1.0) +
         i * (to.roi_end - to.roi_start) * (length_original - 1.0) / (length_resized - 1.0);
}

Result<Tensor> resample(const Tensor& x, const ResampleRules& rules, const std::vector<AxisResample>& axes) {
  Shape shape = x.shape();
  for (const AxisResample& to : axes) {
    if (shape[at(to.axis)] == 0 && to.extent != 0) {
      return op_error(fmt::format("axis {} of {} has no elements to make {} from", to.axis, tensor_text(x), to.extent));
    }
    shape[at(to.axis)] = to.extent;
  }
  const auto count = checked_count(shape);
  if (!count) return count.error();
  return rules.mode == Interpolation::nearest ? resample_nearest(x, rules, axes) : interpolate(x, rules, axes);
}

}  // namespace assay::reference
