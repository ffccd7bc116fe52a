#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {

/// Resize's attributes.
struct ResizeAttributes {
  enum class Mode { nearest, linear, cubic };
  Mode mode = Mode::nearest;
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  std::string aspect = "stretch";
  double cubic_coefficient = -0.75;
  bool excludes_outside = false;
  bool antialias = false;
  double extrapolation = 0;
  std::vector<std::int64_t> axes;
  std::int64_t opset = 13;
  bool is_upsample = false;
};
[[nodiscard]] Result<ResizeAttributes> read_resize_attributes(const Node& node, std::int64_t opset);

/// One output position along one dimension: the input positions it takes and with which weights. None: the
/// extrapolation value.
struct Tap {
  std::vector<std::int64_t> sources;
  std::vector<double> weights;
};

/// A resize bound to its input: taps for every output position of every dimension.
struct ResizePlan {
  Shape out_shape;
  std::vector<std::vector<Tap>> taps;  ///< by dimension; empty where nothing changes
};
[[nodiscard]] Result<ResizePlan> bind_resize(const ResizeAttributes& attributes, const Call& call);

/// Resizes along one dimension after the other. Elements outside (no taps) become `extrapolation`.
template <typename Element>
std::vector<Element> resize(const ResizePlan& plan, const Shape& in_shape, std::vector<Element> values,
                            Element extrapolation) {
  Shape shape = in_shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto& taps = plan.taps[d];
    if (taps.empty()) continue;
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    for (std::size_t i = 0; i < d; ++i) outer *= shape[i];
    for (std::size_t i = d + 1; i < shape.size(); ++i) inner *= shape[i];
    const std::int64_t extent = shape[d];
    shape[d] = std::ssize(taps);
    std::vector<Element> next(static_cast<std::size_t>(outer * shape[d] * inner));
    auto* out = next.data();
    for (std::int64_t o = 0; o < outer; ++o) {
      const Element* in = values.data() + o * extent * inner;
      for (const Tap& tap : taps) {
        for (std::int64_t i = 0; i < inner; ++i) {
          double sum = 0;
          for (std::size_t t = 0; t < tap.sources.size(); ++t) {
            sum += static_cast<double>(in[tap.sources[t] * inner + i]) * tap.weights[t];
          }
          *out++ = tap.sources.empty() ? extrapolation : static_cast<Element>(sum);
        }
      }
    }
    values = std::move(next);
  }
  return values;
}

/// The same for nearest, where every position has one source: elements only move.
void resize_nearest(const ResizePlan& plan, const Buffer& x, Buffer& out);

}  // namespace assay::embedded::engine
