#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kCoordinatesAreNamed = 16;

/// The sample points of one output bin along one axis: `count` in the middles of equal parts.
struct Bins {
  double start, size;  ///< of the first bin
  std::int64_t count;

  [[nodiscard]] double point(std::int64_t bin, std::int64_t i) const {
    return start + (static_cast<double>(bin) + (static_cast<double>(i) + 0.5) / static_cast<double>(count)) * size;
  }
};

/// Bilinear between the four elements around (y, x). Within one step beyond the edge the edge counts, further out 0.
double sample(std::span<const double> plane, std::int64_t height, std::int64_t width, double y, double x) {
  if (!(y >= -1.0 && y <= static_cast<double>(height) && x >= -1.0 && x <= static_cast<double>(width))) return 0.0;
  const double inside_y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  const double inside_x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<std::int64_t>(inside_y);
  const auto left = static_cast<std::int64_t>(inside_x);
  const std::int64_t bottom = std::min(top + 1, height - 1);
  const std::int64_t right = std::min(left + 1, width - 1);
  const double down = inside_y - static_cast<double>(top);
  const double along = inside_x - static_cast<double>(left);
  const auto element = [&](std::int64_t row, std::int64_t column) { return plane[at(row * width + column)]; };
  return (1.0 - down) * ((1.0 - along) * element(top, left) + along * element(top, right)) +
         down * ((1.0 - along) * element(bottom, left) + along * element(bottom, right));
}

struct RoiRules {
  std::int64_t height, width, sampling_ratio;
  double spatial_scale;
  bool half_pixel, largest;
};

Result<RoiRules> roi_rules(const OpCall& call) {
  const Node& node = call.node;
  const std::string mode = node.string_or("mode", "avg");
  const bool named = call.opset >= kCoordinatesAreNamed;
  const std::string coordinates =
      named ? node.string_or("coordinate_transformation_mode", "half_pixel") : "output_half_pixel";
  if ((mode != "avg" && mode != "max") || (coordinates != "half_pixel" && coordinates != "output_half_pixel")) {
    return op_error(
        fmt::format("mode \"{}\", coordinate_transformation_mode \"{}\"; expected avg or max, half_pixel or "
                    "output_half_pixel",
                    mode, coordinates));
  }
  const RoiRules rules{node.int_or("output_height", 1),  node.int_or("output_width", 1),
                       node.int_or("sampling_ratio", 0), node.float_or("spatial_scale", 1.0),
                       coordinates == "half_pixel",      mode == "max"};
  if (rules.height < 1 || rules.width < 1 || rules.sampling_ratio < 0) {
    return op_error("output_height and output_width must be at least 1, sampling_ratio at least 0");
  }
  return rules;
}

/// The bins of `extent` along the region from `first` to `last`.
Bins bins_of(double first, double last, std::int64_t extent, const RoiRules& rules) {
  const double offset = rules.half_pixel ? 0.5 : 0.0;
  const double start = first * rules.spatial_scale - offset;
  double length = last * rules.spatial_scale - offset - start;
  if (!rules.half_pixel) length = std::max(length, 1.0);  // as before opset 16: a region has at least one element
  const double size = length / static_cast<double>(extent);
  const auto adaptive = static_cast<std::int64_t>(std::ceil(size));
  return {start, size, rules.sampling_ratio > 0 ? rules.sampling_ratio : std::max<std::int64_t>(adaptive, 0)};
}

core::Status check_inputs(const OpCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto real = require_real(call, i); !real) return real;
  }
  const Tensor& x = call.in(0);
  const Tensor& rois = call.in(1);
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != 4 || call.in(2).shape() != Shape{rois.shape()[0]}) {
    return op_error(fmt::format("X {}, rois {}, batch_indices {}; expected [N, C, H, W], [R, 4] and [R]",
                                tensor_text(x), tensor_text(rois), tensor_text(call.in(2))));
  }
  constexpr double kLargest = 0x1p24;  // far beyond any image, and small enough to count samples with
  for (const double value : rois.reals()) {
    if (!(std::abs(value) <= kLargest)) return op_error(fmt::format("rois hold {}", value));
  }
  for (const std::int64_t index : call.in(2).to_integers()) {
    if (index < 0 || index >= x.shape()[0]) return op_error(fmt::format("batch_indices name image {}", index));
  }
  return x.size() == 0 ? op_error("X has no elements") : core::success();
}

// ONNX RoiAlign-22 (-16: coordinate_transformation_mode, by default half_pixel): each region [x1, y1, x2, y2] of its
// image in output_height × output_width bins, each the mean or the largest of sampling_ratio² points (0: as many as the
// bin has elements, rounded up) interpolated bilinearly.
Result<std::vector<Tensor>> run_roi_align(const OpCall& call) {
  if (const auto inputs = check_inputs(call); !inputs) return inputs.error();
  const auto rules = roi_rules(call);
  if (!rules) return rules.error();
  const Tensor& x = call.in(0);
  const std::span<const double> rois = call.in(1).reals();
  const std::int64_t regions = call.in(1).shape()[0];
  const std::int64_t channels = x.shape()[1];
  const std::int64_t height = x.shape()[2];
  const std::int64_t width = x.shape()[3];
  const Shape shape{regions, channels, rules->height, rules->width};
  if (const auto count = checked_count(shape); !count) return count.error();
  std::vector<double> result;
  for (std::int64_t region = 0; region < regions; ++region) {
    const std::int64_t image = call.in(2).integers()[at(region)];
    const Bins down = bins_of(rois[at(region * 4 + 1)], rois[at(region * 4 + 3)], rules->height, *rules);
    const Bins along = bins_of(rois[at(region * 4)], rois[at(region * 4 + 2)], rules->width, *rules);
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const auto plane = x.reals().subspan(at((image * channels + channel) * height * width), at(height * width));
      for (std::int64_t row = 0; row < rules->height; ++row) {
        for (std::int64_t column = 0; column < rules->width; ++column) {
          double sum = 0.0;
          double largest = down.count * along.count == 0 ? 0.0 : -HUGE_VAL;
          for (std::int64_t i = 0; i < down.count; ++i) {
            for (std::int64_t j = 0; j < along.count; ++j) {
              const double value = sample(plane, height, width, down.point(row, i), along.point(column, j));
              sum += value;
              largest = std::max(largest, value);
            }
          }
          const auto points = static_cast<double>(std::max<std::int64_t>(down.count * along.count, 1));
          result.push_back(rules->largest ? largest : sum / points);
        }
      }
    }
  }
  return single_output(Tensor(x.type(), shape, std::move(result)));
}

Result<Facts> infer_roi_align(const ShapeCall& call) {
  if (const auto rank = require_rank(call, 0, 4); !rank) return rank.error();
  if (const auto rank = require_rank(call, 1, 2); !rank) return rank.error();
  if (const auto rank = require_rank(call, 2, 1); !rank) return rank.error();
  return one(call.in(0).type,
             Dims{sharper(extent_of(call.in(1), 0), extent_of(call.in(2), 0)), extent_of(call.in(0), 1),
                  known(call.node.int_or("output_height", 1)), known(call.node.int_or("output_width", 1))});
}

}  // namespace

const OpDef& op_roi_align() {
  static const OpDef def{.name = "RoiAlign",
                         .first_opset = 10,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_roi_align,
                         .infer = &infer_roi_align};
  return def;
}

}  // namespace assay::reference
