#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {

/// Channels and window of one convolution, bound to an input's shape. Conv's weight is [out, in / groups, kernel…],
/// ConvTranspose's is [in, out / groups, kernel…].
struct Convolution {
  Window window;
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t in_per_group = 1;
  std::int64_t out_per_group = 1;
  Shape out_shape;

  [[nodiscard]] std::int64_t out_channels() const { return groups * out_per_group; }
  [[nodiscard]] std::int64_t in_plane() const { return volume(window.in); }
  [[nodiscard]] std::int64_t out_plane() const { return volume(window.out); }
};

/// Errors   invalid_data or invalid_model with the shapes that do not fit.
[[nodiscard]] Result<Convolution> bind_convolution(const WindowAttributes& attributes, std::int64_t groups,
                                                   bool transposed, const Shape& x, const Shape& w);

/// One output channel that reads one input channel: sums[o] = sum over taps of w[tap] * plane[…]. `plane` is already
/// padded to (in + pads) and widened; `axpy` is the loop for its types. Sums are set, not added to.
template <typename Weight, typename Element, typename Sum, typename Axpy>
void convolve_plane(const Window& window, const Weight* weights, const Element* plane, Sum* sums, Axpy axpy) {
  const std::int64_t height = window.in[1] + window.pad_begin[1] + window.pad_end[1];
  const std::int64_t width = window.in[2] + window.pad_begin[2] + window.pad_end[2];
  std::fill_n(sums, volume(window.out), Sum{});
  for (std::int64_t oz = 0; oz < window.out[0]; ++oz) {
    for (std::int64_t oy = 0; oy < window.out[1]; ++oy) {
      Sum* line = sums + (oz * window.out[1] + oy) * window.out[2];
      const Weight* weight = weights;
      for (std::int64_t kz = 0; kz < window.kernel[0]; ++kz) {
        const std::int64_t z = oz * window.stride[0] + kz * window.dilation[0];
        for (std::int64_t ky = 0; ky < window.kernel[1]; ++ky) {
          const std::int64_t y = oy * window.stride[1] + ky * window.dilation[1];
          const Element* source = plane + (z * height + y) * width;
          for (std::int64_t kx = 0; kx < window.kernel[2]; ++kx) {
            axpy(*weight++, source + kx * window.dilation[2], window.stride[2], line, window.out[2]);
          }
        }
      }
    }
  }
}

/// Elements of one padded plane.
[[nodiscard]] std::int64_t padded_volume(const Window& window);

/// Copies one plane into a padded one through `convert`; the border holds `pad`.
template <typename Source, typename Element, typename Convert>
void pad_plane(const Window& window, const Source* plane, Element pad, Element* out, Convert convert) {
  const std::int64_t height = window.in[1] + window.pad_begin[1] + window.pad_end[1];
  const std::int64_t width = window.in[2] + window.pad_begin[2] + window.pad_end[2];
  std::fill_n(out, padded_volume(window), pad);
  for (std::int64_t z = 0; z < window.in[0]; ++z) {
    for (std::int64_t y = 0; y < window.in[1]; ++y) {
      Element* line =
          out + ((z + window.pad_begin[0]) * height + y + window.pad_begin[1]) * width + window.pad_begin[2];
      for (std::int64_t x = 0; x < window.in[2]; ++x) line[x] = convert(*plane++);
    }
  }
}

}  // namespace assay::embedded::engine
