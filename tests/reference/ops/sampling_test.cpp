#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

Attributes words(const std::string& name, const std::string& value) { return {{name, value}}; }

/// A 2×2 image 1, 2 / 3, 4 read at one point.
double sampled(double x, double y, Attributes attributes) {
  return first_output("GridSample", {reals({1, 1, 2, 2}, {1, 2, 3, 4}), reals({1, 1, 1, 2}, {x, y})}, attributes, 20)
      .as_real(0);
}

TEST(GridSample, TakesXFirstAndInterpolates) {
  EXPECT_EQ(sampled(0, 0, {}), 2.5);
  EXPECT_EQ(sampled(0.5, -0.5, {}), 2.0);
  EXPECT_EQ(sampled(1, -1, {{"align_corners", std::int64_t{1}}}), 2.0);
}

TEST(GridSample, PadsWithZerosTheBorderOrAReflection) {
  // (-1, -1) is the image's corner: three quarters of the square around it lie outside.
  EXPECT_EQ(sampled(-1, -1, {}), 0.25);
  EXPECT_EQ(sampled(-1, -1, words("padding_mode", "border")), 1.0);
  EXPECT_EQ(sampled(-1, -1, words("padding_mode", "reflection")), 1.0);
  // One element to the left of the image: 0, the first column, and once more the first column.
  EXPECT_EQ(sampled(-1.5, -0.5, {}), 0.0);
  EXPECT_EQ(sampled(-1.5, -0.5, words("padding_mode", "border")), 1.0);
  EXPECT_EQ(sampled(-1.5, -0.5, words("padding_mode", "reflection")), 1.0);
  // With aligned corners the corner element itself is not repeated.
  EXPECT_EQ(sampled(-3, -1, {{"padding_mode", std::string("reflection")}, {"align_corners", std::int64_t{1}}}), 2.0);
}

TEST(GridSample, NearestRoundsHalvesToEven) {
  EXPECT_EQ(sampled(0, 0, words("mode", "nearest")), 1.0);  // 0.5 goes to 0
  EXPECT_EQ(sampled(0.01, 0, words("mode", "nearest")), 2.0);
}

TEST(GridSample, FarAwayPointsAndNaN) {
  EXPECT_EQ(sampled(1e300, HUGE_VAL, {}), 0.0);
  EXPECT_EQ(sampled(1e300, -HUGE_VAL, words("padding_mode", "border")), 2.0);
  EXPECT_THAT(error_of("GridSample", {reals({1, 1, 1, 1}, {1}), reals({1, 1, 1, 2}, {0, std::nan("")})}, {}, 20),
              HasSubstr("NaN"));
}

double aligned(const Attributes& attributes) {
  const Tensor image = reals({1, 1, 2, 2}, {0, 1, 2, 3});
  return first_output("RoiAlign", {image, reals({1, 4}, {0, 0, 2, 2}), codes(DType::int64, {1}, {0})}, attributes, 16)
      .as_real(0);
}

TEST(RoiAlign, ShiftsByHalfAnElementUnlessToldOtherwise) {
  const Attributes half{{"sampling_ratio", std::int64_t{1}}};
  EXPECT_EQ(aligned(half), 1.5);  // the region's center is (0.5, 0.5)
  const Attributes whole{{"sampling_ratio", std::int64_t{1}},
                         {"coordinate_transformation_mode", std::string("output_half_pixel")}};
  EXPECT_EQ(aligned(whole), 3.0);  // ... and here (1, 1)
}

TEST(RoiAlign, LargestIsOfInterpolatedPoints) {
  // Points at 0 and 1 along both axes: elements themselves.
  EXPECT_EQ(aligned({{"sampling_ratio", std::int64_t{2}}, {"mode", std::string("max")}}), 3.0);
  // One point, the mean of four: its weighted corners are all smaller.
  EXPECT_EQ(aligned({{"sampling_ratio", std::int64_t{1}}, {"mode", std::string("max")}}), 1.5);
}

TEST(MaxRoiPool, TakesTheLargestOfEachBin) {
  const Tensor x = counting({1, 1, 4, 4});
  const Attributes two{{"pooled_shape", Ints{2, 2}}};
  EXPECT_EQ(first_output("MaxRoiPool", {x, reals({1, 5}, {0, 0, 0, 3, 3})}, two).to_reals(), (Reals{5, 7, 13, 15}));
  // Three columns in two bins share the middle one; outside of the image there is nothing.
  EXPECT_EQ(first_output("MaxRoiPool", {x, reals({1, 5}, {0, 0, 0, 2, 1})}, two).to_reals(), (Reals{1, 2, 5, 6}));
  EXPECT_EQ(first_output("MaxRoiPool", {x, reals({1, 5}, {0, 9, 9, 12, 12})}, two).to_reals(), (Reals{0, 0, 0, 0}));
}

TEST(MaxUnpool, PutsValuesBackWhereTheyWere) {
  const Tensor x = reals({1, 1, 1, 2}, {5, 7});
  const Tensor places = codes(DType::int64, {1, 1, 1, 2}, {1, 6});
  const Attributes pool{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(first_output("MaxUnpool", {x, places}, pool), reals({1, 1, 2, 4}, {0, 5, 0, 0, 0, 0, 7, 0}));
  EXPECT_EQ(first_output("MaxUnpool", {x, places, codes(DType::int64, {4}, {1, 1, 2, 5})}, pool),
            reals({1, 1, 2, 5}, {0, 5, 0, 0, 0, 0, 0, 7, 0, 0}));
}

TEST(DeformConv, WithoutShiftsIsAConvolution) {
  const Tensor x = counting({1, 2, 3, 4});
  const Tensor w = counting({2, 2, 2, 2}, -3);
  EXPECT_EQ(first_output("DeformConv", {x, w, Tensor::zeros(DType::float32, {1, 8, 2, 3})}, {}, 19),
            first_output("Conv", {x, w}));
}

TEST(DeformConv, ReadsBetweenElementsAndZerosOutside) {
  const Tensor x = reals({1, 1, 1, 3}, {1, 3, 7});
  const Tensor w = reals({1, 1, 1, 1}, {10});
  // Shifts (y, x) of the three outputs: half a column, a column beyond the end, half a row up.
  const Tensor offset = reals({1, 2, 1, 3}, {0, 0, -0.5, 0.5, 2, 0});
  EXPECT_EQ(first_output("DeformConv", {x, w, offset}, {}, 19).to_reals(), (Reals{20, 0, 35}));
  const auto mask = reals({1, 1, 1, 3}, {1, 1, 2});
  const auto masked = run_op("DeformConv", {&x, &w, &offset, nullptr, &mask}, {}, 19);
  ASSERT_TRUE(masked) << masked.error().message;
  EXPECT_EQ(masked->front().to_reals(), (Reals{20, 0, 70}));
}

TEST(AffineGrid, CoversTheSquareFromMiddlesOrCorners) {
  const Tensor theta = reals({1, 2, 3}, {1, 0, 0, 0, 1, 0.5});
  const Tensor size = codes(DType::int64, {4}, {1, 1, 1, 2});
  EXPECT_EQ(first_output("AffineGrid", {theta, size}, {}, 20).to_reals(), (Reals{-0.5, 0.5, 0.5, 0.5}));
  const Tensor square = codes(DType::int64, {4}, {1, 1, 2, 2});
  EXPECT_EQ(first_output("AffineGrid", {theta, square}, {{"align_corners", std::int64_t{1}}}, 20).to_reals(),
            (Reals{-1, -0.5, 1, -0.5, -1, 1.5, 1, 1.5}));
}

TEST(Col2Im, AddsUpWhereWindowsOverlap) {
  const Tensor ones = counting({1, 4, 4}, 1, 0);
  EXPECT_EQ(first_output("Col2Im", {ones, codes(DType::int64, {2}, {3, 3}), codes(DType::int64, {2}, {2, 2})}, {}, 18),
            reals({1, 1, 3, 3}, {1, 2, 1, 2, 4, 2, 1, 2, 1}));
}

TEST(CenterCropPad, TheOddElementGoesToTheEnd) {
  const Tensor x = reals({1, 2, 3, 4});
  EXPECT_EQ(first_output("CenterCropPad", {x, codes(DType::int64, {1}, {7})}, {}, 18).to_reals(),
            (Reals{0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(first_output("CenterCropPad", {x, codes(DType::int64, {1}, {1})}, {}, 18).to_reals(), (Reals{2}));
}

}  // namespace
}  // namespace assay::reference
