#include "reference/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/core/rng.hpp"

namespace assay::reference {
namespace {

std::vector<double> random_values(const Shape& shape, std::uint64_t seed) {
  core::Rng rng(seed);
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (double& value : values) {
    value = rng.normal();
  }
  return values;
}

struct Example {
  Shape x;
  Shape w;
  std::map<std::string, model::Attribute> attributes;
};

using Ints = std::vector<std::int64_t>;

TEST(Convolve, BlockedEqualsPlainToTheLastBit) {
  const std::vector<Example> examples{
      {{2, 3, 11, 7}, {5, 3, 3, 2}, {}},
      {{1, 4, 40}, {6, 2, 5}, {{"group", std::int64_t{2}}, {"strides", Ints{3}}, {"pads", Ints{2, 4}}}},
      {{2, 8, 9, 13}, {4, 8, 1, 1}, {}},
      {{1, 3, 20, 22}, {8, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 2, 6, 7, 8}, {4, 2, 2, 3, 2}, {{"dilations", Ints{2, 1, 3}}, {"pads", Ints{1, 0, 2, 0, 1, 1}}}},
      {{1, 64, 70, 65}, {8, 64, 3, 3}, {{"auto_pad", std::string("SAME_LOWER")}}},  // several tiles of positions
  };
  for (const Example& example : examples) {
    Node node;
    node.attributes = example.attributes;
    const Result<Convolution> conv = sliding_convolution(node, example.x, example.w);
    ASSERT_TRUE(conv.ok()) << conv.error().message;
    const std::vector<double> x = random_values(example.x, 1);
    const std::vector<double> w = random_values(example.w, 2);
    EXPECT_EQ(convolve_plain(*conv, x, w), convolve_blocked(*conv, x, w)) << core::shape_text(example.x);
  }
}

/// ConvTranspose by its definition, one product at a time.
std::vector<double> transposed_by_definition(const Convolution& conv, const std::vector<double>& x,
                                             const std::vector<double>& w) {
  const Windows& win = conv.windows;
  const auto next = [](Extents& e, const Extents& end) {
    for (std::size_t axis = kSpatialAxes; axis-- > 0; e[axis] = 0) {
      if (++e[axis] < end[axis]) return true;
    }
    return false;
  };
  const auto flat = [](const Extents& e, const Extents& end) { return (e[0] * end[1] + e[1]) * end[2] + e[2]; };
  std::vector<double> y(static_cast<std::size_t>(core::element_count(conv.output_shape())), 0.0);
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t channel = 0; channel < conv.groups * conv.in_channels; ++channel) {
      for (std::int64_t m = 0; m < conv.out_channels; ++m) {
        const std::int64_t out_channel = channel / conv.in_channels * conv.out_channels + m;
        Extents i{};
        do {
          Extents k{};
          do {
            Extents o{};
            bool inside = true;
            for (std::size_t axis = 0; axis < kSpatialAxes; ++axis) {
              o[axis] = i[axis] * win.stride[axis] - win.pad_begin[axis] + k[axis] * win.dilation[axis];
              inside = inside && o[axis] >= 0 && o[axis] < win.output[axis];
            }
            if (inside) {
              const std::int64_t to =
                  (n * conv.all_out_channels() + out_channel) * volume(win.output) + flat(o, win.output);
              const std::int64_t from =
                  (n * conv.groups * conv.in_channels + channel) * volume(win.input) + flat(i, win.input);
              const std::int64_t weight = (channel * conv.out_channels + m) * volume(win.kernel) + flat(k, win.kernel);
              y[static_cast<std::size_t>(to)] +=
                  x[static_cast<std::size_t>(from)] * w[static_cast<std::size_t>(weight)];
            }
          } while (next(k, win.kernel));
        } while (next(i, win.input));
      }
    }
  }
  return y;
}

/// Largest sum of magnitudes that an output adds up: what the rounding error of any order is relative to.
double largest_sum(const Convolution& conv, std::vector<double> x, std::vector<double> w) {
  for (double& value : x) value = std::fabs(value);
  for (double& value : w) value = std::fabs(value);
  const std::vector<double> sums = transposed_by_definition(conv, x, w);
  return *std::max_element(sums.begin(), sums.end());
}

TEST(ConvolveTransposed, EqualsItsDefinitionForEveryAttribute) {
  const std::vector<Example> examples{
      {{1, 1, 3}, {1, 1, 2}, {}},
      {{2, 6, 5, 7}, {6, 3, 3, 2}, {{"group", std::int64_t{2}}, {"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 2}}}},
      {{1, 4, 6, 5},
       {4, 2, 2, 3},
       {{"dilations", Ints{2, 3}}, {"output_padding", Ints{1, 0}}, {"strides", Ints{2, 1}}}},
      {{1, 3, 4, 4}, {3, 5, 3, 3}, {{"strides", Ints{2, 2}}, {"output_shape", Ints{10, 8}}}},
      {{1, 3, 4, 5}, {3, 5, 3, 3}, {{"strides", Ints{2, 3}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {{1, 3, 4, 5}, {3, 5, 2, 4}, {{"strides", Ints{3, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
      {{1, 2, 3, 4, 5}, {2, 3, 2, 1, 3}, {{"strides", Ints{1, 2, 1}}, {"pads", Ints{1, 0, 1, 0, 0, 1}}}},
      {{1, 5, 1, 1}, {5, 7, 4, 4}, {{"strides", Ints{5, 5}}}},       // taps further apart than the kernel
      {{1, 24, 70, 66}, {24, 40, 4, 4}, {{"strides", Ints{2, 2}}}},  // several tiles of positions
      {{3, 8, 9, 9}, {8, 1, 3, 3}, {{"group", std::int64_t{8}}}},    // depthwise
  };
  for (const Example& example : examples) {
    Node node;
    node.attributes = example.attributes;
    const Result<Convolution> conv = transposed_convolution(node, example.x, example.w, 13);
    ASSERT_TRUE(conv.ok()) << conv.error().message;
    const std::vector<double> x = random_values(example.x, 1);
    const std::vector<double> w = random_values(example.w, 2);
    const std::vector<double> expected = transposed_by_definition(*conv, x, w);
    const std::vector<double> actual = convolve_transposed(*conv, x, w);
    ASSERT_EQ(expected.size(), actual.size());
    // Two orders of the same n products differ by at most 2γ_n·Σ|x·w|.
    const auto products = static_cast<double>(conv->in_channels * volume(conv->windows.kernel));
    const double limit = 2 * products * 0x1p-53 * 1.01 * largest_sum(*conv, x, w);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_LE(std::fabs(expected[i] - actual[i]), limit) << core::shape_text(example.x) << " at " << i;
    }
  }
}

/// ConvTranspose is defined as the transpose of Conv's linear map: <conv(x), y> = <x, conv_transpose(y)>.
TEST(ConvolveTransposed, IsTheAdjointOfConvolve) {
  const Shape x_shape{2, 4, 10, 9};
  const Shape w_shape{6, 2, 3, 2};
  Node node;
  node.attributes = {
      {"group", std::int64_t{2}}, {"strides", Ints{2, 3}}, {"dilations", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 2}}};
  const Result<Convolution> conv = sliding_convolution(node, x_shape, w_shape);
  ASSERT_TRUE(conv.ok()) << conv.error().message;
  const Shape y_shape = conv->output_shape();
  node.attributes["output_shape"] = Ints{10, 9};
  node.attributes["output_padding"] = Ints{0, 0};
  // Fix the pads, which output_shape would choose anew.
  Result<Convolution> transposed = transposed_convolution(node, y_shape, w_shape, 13);
  ASSERT_TRUE(transposed.ok()) << transposed.error().message;
  transposed->windows.pad_begin = conv->windows.pad_begin;
  ASSERT_EQ(transposed->output_shape(), x_shape);

  const std::vector<double> x = random_values(x_shape, 1);
  const std::vector<double> w = random_values(w_shape, 2);
  const std::vector<double> y = random_values(y_shape, 3);
  const std::vector<double> forward = convolve(*conv, x, w);
  const std::vector<double> backward = convolve_transposed(*transposed, y, w);
  double left = 0.0;
  double right = 0.0;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    left += forward[i] * y[i];
  }
  for (std::size_t i = 0; i < backward.size(); ++i) {
    right += backward[i] * x[i];
  }
  EXPECT_NEAR(left, right, 1e-10);
}

}  // namespace
}  // namespace assay::reference
