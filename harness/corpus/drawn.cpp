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

  /// A filled ellipse, its edge soft over about one pixel.
  void ellipse(double y, double x, double radius_y, double radius_x, const Colour& colour) {
    const double softness = std::max(1.0, std::min(radius_y, radius_x));
    for (auto row = static_cast<std::int64_t>(y - radius_y - 1); row <= static_cast<std::int64_t>(y + radius_y + 1);
         ++row) {
      for (auto column = static_cast<std::int64_t>(x - radius_x - 1);
           column <= static_cast<std::int64_t>(x + radius_x + 1); ++column) {
        const double dy = (static_cast<double>(row) - y) / radius_y;
        const double dx = (static_cast<double>(column) - x) / radius_x;
        blend(row, column, colour, std::clamp((1 - std::sqrt(dy * dy + dx * dx)) * softness + 0.5, 0.0, 1.0));
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

void draw_boxes(Canvas& canvas, double height, double width, std::int64_t count, Rng& rng) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double y = rng.uniform(0, height * 0.8);
    const double x = rng.uniform(0, width * 0.8);
    canvas.box(y, x, y + rng.uniform(8, height * 0.3), x + rng.uniform(8, width * 0.3), draw_colour(rng, 0, 255));
  }
}

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
  draw_boxes(canvas, h, w, rng.integer(1, 4), rng);
  for (double y = rng.uniform(4, 30); y < h - 12;) {
    const double size = rng.uniform(10, 32);
    canvas.line_of_letters(y, rng.uniform(4, w * 0.4), size, w * rng.uniform(0.6, 1.0), ink, rng);
    y += size * rng.uniform(1.3, 2.5);
  }
}

/// One face, `radius` from its middle to its chin: hair, skin, brows, eyes, nose and mouth above shoulders.
void draw_face(Canvas& canvas, double y, double x, double radius, Rng& rng) {
  const double light = rng.uniform(0.3, 1);
  const Colour skin{90 + 150 * light, 60 + 130 * light, 45 + 110 * light, 60 + 130 * light};
  const Colour shade{skin[0] * 0.8, skin[1] * 0.75, skin[2] * 0.75, skin[3] * 0.8};
  const Colour hair = draw_colour(rng, 10, 150);
  const Colour eye = draw_colour(rng, 20, 70);
  const Colour white{235, 235, 230, 235};
  const Colour lips{skin[0] * 0.85, skin[1] * 0.5, skin[2] * 0.55, skin[3] * 0.6};
  const double width = radius * rng.uniform(0.7, 0.8);
  const double turn = rng.uniform(-0.12, 0.12) * width;  // eyes, nose and mouth move when a head turns
  canvas.ellipse(y + 2.1 * radius, x, radius, 2 * radius, draw_colour(rng, 20, 230));
  canvas.ellipse(y + radius, x, radius * 0.6, width * 0.5, shade);
  canvas.ellipse(y - radius * 0.15, x, radius * 1.05, width * 1.15, hair);
  canvas.ellipse(y + radius * 0.08, x, radius * 0.9, width, skin);
  for (const double side : {-1.0, 1.0}) {
    const double at = x + turn + side * width * 0.42;
    canvas.ellipse(y - radius * 0.1, at, radius * 0.08, width * 0.18, white);
    canvas.ellipse(y - radius * 0.1, at, radius * 0.07, width * 0.08, eye);
    canvas.stroke(y - radius * 0.27, at - width * 0.2, y - radius * 0.3, at + width * 0.2, radius * 0.06, hair);
  }
  canvas.stroke(y - radius * 0.05, x + turn, y + radius * 0.22, x + turn * 1.4, radius * 0.07, shade);
  canvas.ellipse(y + radius * 0.5, x + turn, radius * rng.uniform(0.04, 0.12), width * rng.uniform(0.25, 0.4), lips);
}

/// People before a wall with boxes; a picture of 64 lines or less is one face, as a detector's later stages see it.
void draw_people(Canvas& canvas, std::int64_t height, std::int64_t width, Rng& rng) {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  canvas.gradient(draw_colour(rng, 30, 240), draw_colour(rng, 30, 240), rng.uniform(0, 0.8), rng.uniform(0, 0.8));
  if (height <= 64) {
    draw_face(canvas, h * rng.uniform(0.42, 0.58), w * rng.uniform(0.42, 0.58), h * rng.uniform(0.35, 0.6), rng);
    return;
  }
  draw_boxes(canvas, h, w, rng.integer(1, 5), rng);
  const std::int64_t people = rng.integer(1, 4);
  for (std::int64_t i = 0; i < people; ++i) {
    draw_face(canvas, h * rng.uniform(0.15, 0.7), w * rng.uniform(0.1, 0.9), h * rng.uniform(0.06, 0.22), rng);
  }
}

}  // namespace

std::vector<double> draw_pictures(const core::Shape& shape, const PictureStyle& style, Rng& rng) {
  const std::int64_t channels = style.channels_last ? shape[3] : shape[1];
  const std::int64_t height = style.channels_last ? shape[1] : shape[2];
  const std::int64_t width = style.channels_last ? shape[2] : shape[3];
  std::vector<double> out(static_cast<std::size_t>(core::element_count(shape)));
  std::size_t picture = 0;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    Canvas canvas(channels, height, width);
    (style.people ? draw_people : draw_page)(canvas, height, width, rng);
    const auto area = static_cast<std::size_t>(height * width);
    const auto stride = static_cast<std::size_t>(channels);
    for (std::size_t i = 0; i < canvas.pixels().size(); ++i) {
      const std::size_t at = style.channels_last ? i % area * stride + i / area : i;
      out[picture + at] = std::clamp(std::nearbyint(canvas.pixels()[i] + rng.uniform(-3, 3)), 0.0, 255.0);
    }
    picture += canvas.pixels().size();
  }
  return out;
}

}  // namespace assay::corpus
