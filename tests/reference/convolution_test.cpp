#include "reference/convolution.hpp"

#include <gtest/gtest.h>

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
