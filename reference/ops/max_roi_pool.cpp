#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// The elements of bin `bin` of `bins` along an axis: the region's share, rounded outwards, cut to the axis.
struct Range {
  std::int64_t first, last;
};
Range bin_range(std::int64_t bin, std::int64_t bins, std::int64_t start, std::int64_t length, std::int64_t extent) {
  const auto edge = [&](std::int64_t numerator) {
    return static_cast<double>(numerator * length) / static_cast<double>(bins);
  };
  const auto first = static_cast<std::int64_t>(std::floor(edge(bin))) + start;
  const auto last = static_cast<std::int64_t>(std::ceil(edge(bin + 1))) + start;
  return {std::clamp<std::int64_t>(first, 0, extent), std::clamp<std::int64_t>(last, 0, extent)};
}

// ONNX MaxRoiPool-22: the largest element in each of pooled_shape bins of each region [image, x1, y1, x2, y2], whose
// corners are scaled by spatial_scale, rounded and belong to it; a bin outside of the image is 0. The text says no more
// than that; the bins are those of Fast R-CNN, as ONNX Runtime has them.
Result<std::vector<Tensor>> run_max_roi_pool(const OpCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto real = require_real(call, i); !real) return real.error();
  }
  const Tensor& x = call.in(0);
  const Tensor& rois = call.in(1);
  const std::vector<std::int64_t> pooled = call.node.ints_or("pooled_shape");
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != 5 || pooled.size() != 2 || pooled[0] < 1 ||
      pooled[1] < 1) {
    return op_error(fmt::format("X {}, rois {}, pooled_shape {}; expected [N, C, H, W], [R, 5] and two extents",
                                tensor_text(x), tensor_text(rois), core::shape_text(pooled)));
  }
  const Shape shape{rois.shape()[0], x.shape()[1], pooled[0], pooled[1]};
  if (const auto count = checked_count(shape); !count) return count.error();
  const double scale = call.node.float_or("spatial_scale", 1.0);
  const std::int64_t height = x.shape()[2];
  const std::int64_t width = x.shape()[3];
  constexpr double kLargest = 0x1p24;  // far beyond any image
  std::vector<double> y;
  for (std::int64_t region = 0; region < rois.shape()[0]; ++region) {
    std::array<std::int64_t, 5> corner{};
    for (std::size_t i = 0; i < corner.size(); ++i) {
      const double value = rois.reals()[at(region) * 5 + i] * (i == 0 ? 1.0 : scale);
      if (!(std::abs(value) <= kLargest)) return op_error(fmt::format("region {} has corner {}", region, value));
      corner[i] = std::llround(value);
    }
    const auto [image, x1, y1, x2, y2] = corner;
    if (image < 0 || image >= x.shape()[0]) return op_error(fmt::format("region {} names image {}", region, image));
    const std::int64_t rows = std::max<std::int64_t>(y2 - y1 + 1, 1);  // a malformed region has one element
    const std::int64_t columns = std::max<std::int64_t>(x2 - x1 + 1, 1);
    for (std::int64_t channel = 0; channel < x.shape()[1]; ++channel) {
      const double* plane = x.reals().data() + (image * x.shape()[1] + channel) * height * width;
      for (std::int64_t i = 0; i < pooled[0]; ++i) {
        const Range down = bin_range(i, pooled[0], y1, rows, height);
        for (std::int64_t j = 0; j < pooled[1]; ++j) {
          const Range along = bin_range(j, pooled[1], x1, columns, width);
          const bool empty = down.first >= down.last || along.first >= along.last;
          double largest = empty ? 0.0 : -HUGE_VAL;
          for (std::int64_t row = down.first; row < down.last; ++row) {
            for (std::int64_t column = along.first; column < along.last; ++column) {
              largest = std::max(largest, plane[row * width + column]);
            }
          }
          y.push_back(largest);
        }
      }
    }
  }
  return single_output(Tensor(x.type(), shape, std::move(y)));
}

Result<Facts> infer_max_roi_pool(const ShapeCall& call) {
  if (const auto rank = require_rank(call, 0, 4); !rank) return rank.error();
  if (const auto rank = require_rank(call, 1, 2); !rank) return rank.error();
  const std::vector<std::int64_t> pooled = call.node.ints_or("pooled_shape");
  if (pooled.size() != 2) return op_error("pooled_shape must hold two extents");
  return one(call.in(0).type,
             Dims{extent_of(call.in(1), 0), extent_of(call.in(0), 1), known(pooled[0]), known(pooled[1])});
}

}  // namespace

const OpDef& op_max_roi_pool() {
  static const OpDef def{
      .name = "MaxRoiPool", .min_inputs = 2, .max_inputs = 2, .run = &run_max_roi_pool, .infer = &infer_max_roi_pool};
  return def;
}

}  // namespace assay::reference
