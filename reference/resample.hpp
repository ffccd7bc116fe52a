#pragma once

#include <cstdint>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

enum class Interpolation { nearest, linear, cubic };

/// ONNX Resize-19's coordinate_transformation_mode (tf_half_pixel_for_nn: until opset 12).
enum class Coordinates {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};

/// nearest_mode. `outward` is what Resize-10 did without saying so: down when growing, up when shrinking.
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil, outward };

struct ResampleRules {
  Interpolation mode = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  double cubic_coeff = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation_value = 0.0;
};

/// How one axis changes its extent. The scale is output / input of this ratio: kept as a ratio, so that coordinates of
/// whole sizes are exact where they can be.
struct AxisResample {
  std::int64_t axis = 0;
  std::int64_t extent = 0;  ///< of the result
  double scale_output = 1.0;
  double scale_input = 1.0;
  double roi_start = 0.0;
  double roi_end = 1.0;
};

/// Where output `index` of an axis of `extent` elements lies in the coordinates of the input.
/// Formula   ONNX Resize-19, coordinate_transformation_mode. In align_corners length_resized is length_original *
/// scale,
///           which need not be whole: ONNX's stored node cases demand it, where ONNX Runtime takes the whole extent.
[[nodiscard]] double original_coordinate(std::int64_t index, std::int64_t extent, const AxisResample& to,
                                         Coordinates mode);

/// `x` with each of `axes` (distinct, within the rank) resampled. Linear and cubic interpolation treat the axes one
/// after another; integer types are truncated at the end.
/// Errors   nothing to sample from; a result that is too large.
[[nodiscard]] Result<Tensor> resample(const Tensor& x, const ResampleRules& rules,
                                      const std::vector<AxisResample>& axes);

}  // namespace assay::reference
