#include "harness/corpus/drawn.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::corpus {
namespace {

using core::Rng;

using Colour = std::array<double, 4>;  // channels beyond the fourth repeat

Colour draw_colour(Rng& rng, double low, double high) {
  Colour colour{};
  const double grey = rng.uniform(low, high);
  for (double& channel : colour) channel = std::clamp(grey + rng.uniform(-25, 25), 0.0, 255.0);
  return colour;
}

/// One picture as bytes-to-be, planar.
class Canvas {
 public:
  Canvas(std::int64_t channels, std::int64_t height, std::int64_t width)
      : channels_(channels),
        height_(height),
        width_(width),
        pixels_(static_cast<std::size_t>(channels * height * width)) {}

  void blend(std::int64_t y, std::int64_t x, const Colour& colour, double cover) {
    if (y < 0 || x < 0 || y >= height_ || x >= width_) return;
    for (std::int64_t c = 0; c < channels_; ++c) {
      double& pixel = pixels_[static_cast<std::size_t>((c * height_ + y) * width_ + x)];
      pixel += cover * (colour[static_cast<std::size_t>(c % 4)] - pixel);
    }
  }

  void gradient(const Colour& from, const Colour& to, double slope_x, double slope_y) {
    for (std::int64_t y = 0; y < height_; ++y) {
      for (std::int64_t x = 0; x < width_; ++x) {
        const double t = slope_x * static_cast<double>(x) / static_cast<double>(width_) +
                         slope_y * static_cast<double>(y) / static_cast<double>(height_);
        blend(y, x, from, 1);
        blend(y, x, to, std::clamp(t, 0.0, 1.0));
      }
    }
  }

  void box(double y0, double x0, double y1, double x1, const Colour& colour) {
    for (auto y = static_cast<std::int64_t>(y0); y <= static_cast<std::int64_t>(y1); ++y) {
      for (auto x = static_cast<std::int64_t>(x0); x <= static_cast<std::int64_t>(x1); ++x) blend(y, x, colour, 1);
    }
  }

  /// A straight stroke with soft edges: cover falls from 1 to 0 over one pixel around half its thickness.
  void stroke(double y0, double x0, double y1, double x1, double thickness, const Colour& colour) {
    const double half = thickness / 2;
    const double length_squared = std::max(1e-9, (y1 - y0) * (y1 - y0) + (x1 - x0) * (x1 - x0));
    const auto top = static_cast<std::int64_t>(std::floor(std::min(y0, y1) - half - 1));
    const auto bottom = static_cast<std::int64_t>(std::ceil(std::max(y0, y1) + half + 1));
    const auto left = static_cast<std::int64_t>(std::floor(std::min(x0, x1) - half - 1));
    const auto right = static_cast<std::int64_t>(std::ceil(std::max(x0, x1) + half + 1));
    for (std::int64_t y = top; y <= bottom; ++y) {
      for (std::int64_t x = left; x <= right; ++x) {
        const double py = static_cast<double>(y) - y0;
        const double px = static_cast<double>(x) - x0;
        const double t = std::clamp((py * (y1 - y0) + px * (x1 - x0)) / length_squared, 0.0, 1.0);
        const double dy = py - t * (y1 - y0);
        const double dx = px - t * (x1 - x0);
        blend(y, x, colour, std::clamp(half + 0.5 - std::sqrt(dy * dy + dx * dx), 0.0, 1.0));
      }
    }
  }

  /// A letter-like mark: two to four strokes between points of a 3×3 grid, as most scripts' letters are made.
  void letter(double top, double left, double height, const Colour& ink, Rng& rng) {
    const double width = height * 0.6;
    const double thickness = std::max(1.0, height * rng.uniform(0.09, 0.16));
    const std::int64_t strokes = rng.integer(2, 4);
    std::int64_t from = rng.integer(0, 8);
    for (std::int64_t i = 0; i < strokes; ++i) {
      const std::int64_t to = (from + rng.integer(1, 8)) % 9;
      const auto row = [&](std::int64_t p) {
        const std::int64_t line = p / 3;
        return top + height * static_cast<double>(line) / 2;
      };
      const auto column = [&](std::int64_t p) { return left + width * static_cast<double>(p % 3) / 2; };
      stroke(row(from), column(from), row(to), column(to), thickness, ink);
      from = to;
    }
  }

  void line_of_letters(double top, double left, double height, double right, const Colour& ink, Rng& rng) {
    for (double x = left; x + height * 0.6 < right; x += height * 0.8) {
      if (rng.uniform() < 0.15) continue;  // a blank between words
      letter(top, x, height, ink, rng);
    }
  }

  [[nodiscard]] std::vector<double>& pixels() { return pixels_; }

 private:
  std::int64_t channels_, height_, width_;
  std::vector<double> pixels_;
};

void draw_page(Canvas& canvas, std::int64_t height, std::int64_t width, Rng& rng) {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  const bool dark_page = rng.uniform() < 0.3;
  const Colour page = dark_page ? draw_colour(rng, 0, 90) : draw_colour(rng, 160, 255);
  const Colour ink = dark_page ? draw_colour(rng, 170, 255) : draw_colour(rng, 0, 90);
  canvas.gradient(page, draw_colour(rng, 40, 230), rng.uniform(0, 0.6), rng.uniform(0, 0.6));
  if (height <= 64) {  // a cropped line of text, as the recognition models see it
    const double size = h * rng.uniform(0.5, 0.75);
    canvas.line_of_letters((h - size) / 2, h * 0.2, size, w * rng.uniform(0.5, 1.0), ink, rng);
    return;
  }
  const std::int64_t boxes = rng.integer(1, 4);
  for (std::int64_t i = 0; i < boxes; ++i) {
    const double y = rng.uniform(0, h * 0.8);
    const double x = rng.uniform(0, w * 0.8);
    canvas.box(y, x, y + rng.uniform(8, h * 0.3), x + rng.uniform(8, w * 0.3), draw_colour(rng, 0, 255));
  }
  for (double y = rng.uniform(4, 30); y < h - 12;) {
    const double size = rng.uniform(10, 32);
    canvas.line_of_letters(y, rng.uniform(4, w * 0.4), size, w * rng.uniform(0.6, 1.0), ink, rng);
    y += size * rng.uniform(1.3, 2.5);
  }
}

}  // namespace

std::vector<double> draw_pictures(const core::Shape& shape, Rng& rng) {
  if (shape.size() != 4) return std::vector<double>(static_cast<std::size_t>(core::element_count(shape)), 0.0);
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(core::element_count(shape)));
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    Canvas canvas(shape[1], shape[2], shape[3]);
    draw_page(canvas, shape[2], shape[3], rng);
    for (const double pixel : canvas.pixels()) {
      const double byte = std::clamp(std::nearbyint(pixel + rng.uniform(-3, 3)), 0.0, 255.0);
      out.push_back((byte / 255 - 0.5) / 0.5);
    }
  }
  return out;
}

}  // namespace assay::corpus
