#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Conv, CorrelatesWithoutFlippingTheKernel) {
  // [1 2 3 4] with [1 10]: 1 + 20, 2 + 30, 3 + 40.
  EXPECT_THAT(first_output("Conv", {reals({1, 1, 4}, {1, 2, 3, 4}), reals({1, 1, 2}, {1, 10})}).reals(),
              ElementsAre(21, 32, 43));
}

TEST(Conv, AddsTheBiasOfEachOutputChannel) {
  const Tensor y = first_output("Conv", {reals({1, 1, 2}, {1, 2}), reals({2, 1, 1}, {3, 5}), reals({100, 200})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
  EXPECT_THAT(y.reals(), ElementsAre(103, 106, 205, 210));
}

TEST(Conv, KeepsGroupsApart) {
  // Two groups of two channels; the weights of a group see only its own channels.
  const Tensor x = reals({1, 4, 1}, {1, 2, 3, 4});
  const Tensor w = reals({2, 2, 1}, {10, 1, 10, 1});
  EXPECT_THAT(first_output("Conv", {x, w}, {{"group", std::int64_t{2}}}).reals(), ElementsAre(12, 34));
}

TEST(Conv, PadsWithZerosOnTheSidesThatPadsNames) {
  const Tensor x = reals({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor w = reals({1, 1, 1, 1}, {1});
  // One row above, two columns to the right.
  const Tensor y = first_output("Conv", {x, w}, {{"pads", Ints{1, 0, 0, 2}}});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 3, 5}));
  EXPECT_THAT(y.reals(), ElementsAre(0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0));
}

TEST(Conv, StridesAndDilatesEachAxisByItself) {
  // x[r][c] = 10 r + c, a 2×2 kernel of ones with dilation (1, 2), stride (2, 1).
  Tensor x = Tensor::zeros(DType::float32, {1, 1, 4, 4});
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) {
      x.reals()[static_cast<std::size_t>(4 * r + c)] = static_cast<double>(10 * r + c);
    }
  }
  const Tensor w = reals({1, 1, 2, 2}, {1, 1, 1, 1});
  const Tensor y = first_output("Conv", {x, w}, {{"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 2, 2}));
  EXPECT_THAT(y.reals(), ElementsAre(24, 28, 104, 108));  // 0+2+10+12, 1+3+11+13, 20+22+30+32, …
}

TEST(Conv, WorksInThreeSpatialAxes) {
  const Tensor y =
      first_output("Conv", {counting({1, 1, 2, 2, 2}), reals({1, 1, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128})});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 1, 1}));
  EXPECT_THAT(y.reals(), ElementsAre(2 + 8 + 24 + 64 + 160 + 384 + 896));
}

TEST(Conv, RefusesChannelsThatDoNotMatchTheGroups) {
  EXPECT_THAT(error_of("Conv", {counting({1, 3, 5}), counting({2, 2, 1})}),
              HasSubstr("input [1,3,5] has 3 channels in 1 group(s), the weights [2,2,1] expect 2"));
  EXPECT_THAT(error_of("Conv", {counting({1, 4, 5}), counting({3, 2, 1})}, {{"group", std::int64_t{2}}}),
              HasSubstr("don't divide by group 2"));
  EXPECT_THAT(error_of("Conv", {counting({1, 1, 5}), counting({2, 1, 1}), counting({3})}),
              HasSubstr("expected one bias for each of 2 output channels"));
  EXPECT_THAT(error_of("Conv", {counting({1, 1, 5}), counting({2, 1, 1})}, {{"group", std::int64_t{0}}}),
              HasSubstr("group is 0"));
}

TEST(Conv, RefusesIntegers) {
  const Tensor x = codes(DType::int8, {1, 1, 1}, {1});
  EXPECT_THAT(error_of("Conv", {x, x}), HasSubstr("has type int8, expected a floating point type"));
}

}  // namespace
}  // namespace assay::reference
