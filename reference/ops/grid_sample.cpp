#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum class GridMode { nearest, linear, cubic };
enum class GridPadding { zeros, border, reflection };

struct GridRules {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
};

Result<GridRules> grid_rules(const OpCall& call) {
  const std::string mode = call.node.string_or("mode", "linear");
  const std::string padding = call.node.string_or("padding_mode", "zeros");
  GridRules rules{GridMode::nearest, GridPadding::zeros, call.node.int_or("align_corners", 0) != 0};
  if (mode == "linear" || mode == "bilinear") {  // "bi-" before opset 20
    rules.mode = GridMode::linear;
  } else if (mode == "cubic" || mode == "bicubic") {
    rules.mode = GridMode::cubic;
  } else if (mode != "nearest") {
    return op_error(fmt::format("mode is \"{}\", expected linear, nearest or cubic", mode));
  }
  if (padding == "border") {
    rules.padding = GridPadding::border;
  } else if (padding == "reflection") {
    rules.padding = GridPadding::reflection;
  } else if (padding != "zeros") {
    return op_error(fmt::format("padding_mode is \"{}\", expected zeros, border or reflection", padding));
  }
  return rules;
}

/// An element of one axis and its weight; outside of the axis with zeros as padding, index is -1.
struct GridTap {
  std::int64_t index;
  double weight;
};

/// The element that `position`, which may lie outside of [0, extent), takes its value from.
std::int64_t padded(std::int64_t position, std::int64_t extent, const GridRules& rules) {
  if (position >= 0 && position < extent) return position;
  if (rules.padding == GridPadding::zeros) return -1;
  if (rules.padding == GridPadding::border) return position < 0 ? 0 : extent - 1;
  // Reflected at the corner elements' centers, or at their outer edges, where each corner element comes twice.
  if (rules.align_corners && extent == 1) return 0;
  const std::int64_t period = rules.align_corners ? 2 * (extent - 1) : 2 * extent;
  const std::int64_t phase = ((position % period) + period) % period;
  if (phase < extent) return phase;
  return rules.align_corners ? period - phase : period - 1 - phase;
}

/// Keys' cubic with a = -0.75.
double cubic(double distance) {
  constexpr double kA = -0.75;
  const double d = std::abs(distance);
  if (d <= 1.0) return ((kA + 2.0) * d - (kA + 3.0)) * d * d + 1.0;
  return d < 2.0 ? ((kA * d - 5.0 * kA) * d + 8.0 * kA) * d - 4.0 * kA : 0.0;
}

/// What the normalized coordinate -1 … 1 reads of an axis.
std::vector<GridTap> taps_at(double coordinate, std::int64_t extent, const GridRules& rules) {
  constexpr double kFarAway = 0x1p40;  // beyond every extent; further out nothing changes but the place of a reflection
  const auto length = static_cast<double>(extent);
  const double wanted =
      rules.align_corners ? (coordinate + 1.0) / 2.0 * (length - 1.0) : ((coordinate + 1.0) * length - 1.0) / 2.0;
  const double x = std::clamp(wanted, -kFarAway, kFarAway);
  if (rules.mode == GridMode::nearest) return {{padded(std::llrint(x), extent, rules), 1.0}};  // halves to even
  const auto left = static_cast<std::int64_t>(std::floor(x));
  const double past = x - static_cast<double>(left);
  if (rules.mode == GridMode::linear) {
    return {{padded(left, extent, rules), 1.0 - past}, {padded(left + 1, extent, rules), past}};
  }
  std::vector<GridTap> taps;
  for (std::int64_t i = -1; i <= 2; ++i) {
    taps.push_back({padded(left + i, extent, rules), cubic(past - static_cast<double>(i))});
  }
  return taps;
}

/// Σ of the elements at all combinations of taps, axis by axis from `axis` on; `first` is the position so far.
double weighted(std::span<const double> plane, const Shape& extents, const std::vector<std::vector<GridTap>>& taps,
                std::size_t axis, std::int64_t first) {
  if (axis == taps.size()) return plane[at(first)];
  double sum = 0.0;
  for (const GridTap& tap : taps[axis]) {
    if (tap.index < 0) continue;
    sum += tap.weight * weighted(plane, extents, taps, axis + 1, first * extents[axis] + tap.index);
  }
  return sum;
}

core::Status check_shapes(const OpCall& call) {
  const Shape& x = call.in(0).shape();
  const Shape& grid = call.in(1).shape();
  if (auto real = require_real(call, 1); !real) return real;
  const bool fit = x.size() >= 3 && grid.size() == x.size() && grid[0] == x[0] &&
                   grid.back() == static_cast<std::int64_t>(x.size()) - 2;
  if (!fit) {
    return op_error(fmt::format("X {} and grid {}; expected [N, C, d…] and [N, o…, number of d]",
                                tensor_text(call.in(0)), tensor_text(call.in(1))));
  }
  if (std::ranges::any_of(call.in(1).reals(), [](double value) { return std::isnan(value); })) {
    return op_error("grid holds NaN");
  }
  if (std::ranges::find(x, 0) != x.end() && call.in(1).size() != 0) return op_error("X has no elements to sample");
  Shape y(x.begin(), x.begin() + 2);
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  const auto count = checked_count(y);
  return count ? core::success() : core::Status(count.error());
}

// ONNX GridSample-22 (-16: 2-D only): y[n, c, o…] is x[n, c] at grid[n, o…], coordinates of the last axis first, each
// from -1 to 1 over an axis; interpolated along all axes. Integers are interpolated as reals and truncated.
Result<std::vector<Tensor>> run_grid_sample(const OpCall& call) {
  const auto rules = grid_rules(call);
  if (!rules) return rules.error();
  if (const auto fit = check_shapes(call); !fit) return fit.error();
  const Tensor& x = call.in(0);
  const Tensor& grid = call.in(1);
  const Shape extents(x.shape().begin() + 2, x.shape().end());
  const std::size_t axes = extents.size();
  const std::int64_t plane = core::element_count(extents);
  const std::int64_t batch = x.shape()[0];
  const std::int64_t channels = x.shape()[1];
  Shape shape(x.shape().begin(), x.shape().begin() + 2);
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  const std::int64_t points = core::element_count(std::span(shape).subspan(2));
  const std::vector<double> values = x.to_reals();
  std::vector<double> y(at(core::element_count(shape)));
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t point = 0; point < points; ++point) {
      std::vector<std::vector<GridTap>> taps;
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::size_t coordinate = at(n * points + point) * axes + (axes - 1 - axis);
        taps.push_back(taps_at(grid.reals()[coordinate], extents[axis], *rules));
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto from = std::span(values).subspan(at((n * channels + c) * plane), at(plane));
        y[at((n * channels + c) * points + point)] = weighted(from, extents, taps, 0, 0);
      }
    }
  }
  if (x.is_real()) return single_output(Tensor(x.type(), shape, std::move(y)));
  std::vector<std::int64_t> integers(y.size());
  std::ranges::transform(y, integers.begin(), [&](double value) { return truncate_to(value, x.type()); });
  return single_output(Tensor(x.type(), shape, std::move(integers)));
}

Result<Facts> infer_grid_sample(const ShapeCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto rank = require_least_rank(call, i, 3); !rank) return rank.error();
  }
  const TensorFacts& x = call.in(0);
  const TensorFacts& grid = call.in(1);
  if (!grid.shape) return one(x.type, x.shape ? std::optional(unknown_dims(x.shape->size())) : std::nullopt);
  Dims shape{sharper(extent_of(x, 0), (*grid.shape)[0]), extent_of(x, 1)};
  shape.insert(shape.end(), grid.shape->begin() + 1, grid.shape->end() - 1);
  return one(x.type, std::move(shape));
}

}  // namespace

const OpDef& op_grid_sample() {
  static const OpDef def{.name = "GridSample",
                         .first_opset = 16,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_grid_sample,
                         .infer = &infer_grid_sample};
  return def;
}

}  // namespace assay::reference
