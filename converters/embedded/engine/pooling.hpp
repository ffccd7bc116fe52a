#pragma once

#include <cstdint>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {

/// A pool bound to an input of [batch, channels, spatial…].
struct Pool {
  Window window;
  std::int64_t planes = 1;  ///< batch * channels
  Shape out_shape;
};
[[nodiscard]] Result<Pool> bind_pool(const WindowAttributes& attributes, const Shape& x);

/// Calls body(output position, input positions inside the window as element offsets, count, padded) for one plane.
/// `padded` is the number of kernel positions that lie in the input or its declared padding.
template <typename Body>
void for_each_window(const Window& w, Body&& body) {
  std::vector<std::int64_t> inside(static_cast<std::size_t>(volume(w.kernel)));
  std::int64_t position = 0;
  for (std::int64_t oz = 0; oz < w.out[0]; ++oz) {
    for (std::int64_t oy = 0; oy < w.out[1]; ++oy) {
      for (std::int64_t ox = 0; ox < w.out[2]; ++ox) {
        const Extents start{oz * w.stride[0] - w.pad_begin[0], oy * w.stride[1] - w.pad_begin[1],
                            ox * w.stride[2] - w.pad_begin[2]};
        std::int64_t count = 0;
        std::int64_t padded = 0;
        for (std::int64_t kz = 0; kz < w.kernel[0]; ++kz) {
          const std::int64_t iz = start[0] + kz * w.dilation[0];
          if (iz >= w.in[0] + w.pad_end[0]) break;
          for (std::int64_t ky = 0; ky < w.kernel[1]; ++ky) {
            const std::int64_t iy = start[1] + ky * w.dilation[1];
            if (iy >= w.in[1] + w.pad_end[1]) break;
            for (std::int64_t kx = 0; kx < w.kernel[2]; ++kx) {
              const std::int64_t ix = start[2] + kx * w.dilation[2];
              if (ix >= w.in[2] + w.pad_end[2]) break;
              ++padded;
              const bool is_inside = iz >= 0 && iz < w.in[0] && iy >= 0 && iy < w.in[1] && ix >= 0 && ix < w.in[2];
              if (is_inside) inside[static_cast<std::size_t>(count++)] = (iz * w.in[1] + iy) * w.in[2] + ix;
            }
          }
        }
        body(position++, inside.data(), count, padded);
      }
    }
  }
}

/// Windows of a plane, laid out once and used for all planes of a pool.
struct WindowIndex {
  explicit WindowIndex(const Window& window);
  std::vector<std::int64_t> offsets;  ///< input positions, window after window
  std::vector<std::int64_t> begin;    ///< first of each window's in `offsets`, and the end
  std::vector<std::int64_t> padded;   ///< kernel positions inside the input or its padding
};

/// Extents of a reduction over all spatial dimensions.
[[nodiscard]] Result<Pool> bind_global_pool(const Shape& x);

/// The largest element of every window, for elements that compare.
template <typename Element>
void max_pool(const Pool& pool, const Element* x, Element* out) {
  const WindowIndex index(pool.window);
  const auto windows = static_cast<std::size_t>(volume(pool.window.out));
  for (std::int64_t plane = 0; plane < pool.planes; ++plane) {
    for (std::size_t i = 0; i < windows; ++i) {
      Element best = std::numeric_limits<Element>::lowest();
      if constexpr (std::numeric_limits<Element>::has_infinity) best = -std::numeric_limits<Element>::infinity();
      for (std::int64_t j = index.begin[i]; j < index.begin[i + 1]; ++j) {
        const Element value = x[index.offsets[static_cast<std::size_t>(j)]];
        best = value > best || value != value ? value : best;
      }
      *out++ = best;
    }
    x += volume(pool.window.in);
  }
}

}  // namespace assay::embedded::engine
