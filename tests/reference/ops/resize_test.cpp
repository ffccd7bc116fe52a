#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/resample.hpp"
#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr double kTiny = 1e-12;

/// Input 0, and sizes (input 3) for its one axis.
Result<std::vector<Tensor>> resize_to(const Tensor& x, std::int64_t size, const Attributes& attributes,
                                      const Tensor* roi = nullptr) {
  const Tensor sizes = codes(DType::int64, {1}, {size});
  return run_op("Resize", {&x, roi, nullptr, &sizes}, attributes, 19);
}

Result<std::vector<Tensor>> resize_by(const Tensor& x, double scale, const Attributes& attributes) {
  const Tensor scales = reals({scale});
  return run_op("Resize", {&x, nullptr, &scales}, attributes, 19);
}

Attributes rules(const std::string& mode, const std::string& coordinates) {
  return {{"mode", mode}, {"coordinate_transformation_mode", coordinates}};
}

void expect_values(const Result<std::vector<Tensor>>& result, const std::vector<double>& expected) {
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->front().to_reals(), Pointwise(DoubleNear(kTiny), expected));
}

TEST(Resize, HalfPixelCentresMeetAndEdgesRepeat) {
  // Coordinates -0.25, 0.25, 0.75, 1.25.
  expect_values(resize_to(reals({1, 2}), 4, rules("linear", "half_pixel")), {1, 1.25, 1.75, 2});
}

TEST(Resize, AlignCornersKeepsBothEnds) {
  expect_values(resize_to(reals({1, 2}), 4, rules("linear", "align_corners")), {1, 4.0 / 3, 5.0 / 3, 2});
}

TEST(Resize, AsymmetricStartsAtZero) {
  expect_values(resize_to(reals({1, 2}), 4, rules("linear", "asymmetric")), {1, 1.5, 2, 2});
}

TEST(Resize, PytorchHalfPixelTakesTheFirstElementForASingleOne) {
  const Tensor x = reals({1, 2, 3, 4});
  expect_values(resize_to(x, 1, rules("linear", "pytorch_half_pixel")), {1});
  expect_values(resize_to(x, 1, rules("linear", "half_pixel")), {2.5});
}

TEST(Resize, HalfPixelSymmetricCentresAFractionalExtent) {
  // 4 * 0.6 = 2.4 becomes 2: 1.5 + (2i + 1 - 2) / 1.2.
  const auto resized = resize_by(reals({1, 2, 3, 4}), 0.6, rules("linear", "half_pixel_symmetric"));
  expect_values(resized, {1 + 1.5 - 1 / 1.2, 1 + 1.5 + 1 / 1.2});
}

TEST(Resize, RoundsHalvesAsNearestModeSays) {
  // 4 to 2: coordinates 0.5 and 2.5.
  const Tensor x = reals({0, 1, 2, 3});
  const std::vector<std::pair<std::string, std::vector<double>>> expected{
      {"round_prefer_floor", {0, 2}}, {"round_prefer_ceil", {1, 3}}, {"floor", {0, 2}}, {"ceil", {1, 3}}};
  for (const auto& [mode, values] : expected) {
    Attributes attributes = rules("nearest", "half_pixel");
    attributes["nearest_mode"] = mode;
    SCOPED_TRACE(mode);
    expect_values(resize_to(x, 2, attributes), values);
  }
}

TEST(Resize, CropsToTheRegionAndExtrapolatesBeyond) {
  // Region 0.5 to 1.5 of a length of 2: coordinates 1, 2, 3.
  Attributes attributes = rules("nearest", "tf_crop_and_resize");
  attributes["extrapolation_value"] = -7.0;
  const Tensor roi = reals({0.5, 1.5});
  expect_values(resize_to(reals({1, 2, 3}), 3, attributes, &roi), {2, 3, -7});
  attributes["mode"] = std::string("linear");
  expect_values(resize_to(reals({1, 2, 3}), 3, attributes, &roi), {2, 3, -7});
  attributes["mode"] = std::string("cubic");
  expect_values(resize_to(reals({1, 2, 3}), 3, attributes, &roi), {2, 3, -7});
}

TEST(Resize, CubicWeighsFourNeighbours) {
  // At a distance of one half: -3/32, 19/32, 19/32, -3/32; the first falls on the repeated edge.
  const Tensor x = reals({1, 0, 0, 0});
  Attributes attributes = rules("cubic", "half_pixel");
  expect_values(resize_to(x, 2, attributes), {0.5, 0});
  attributes["exclude_outside"] = std::int64_t{1};
  expect_values(resize_to(x, 2, attributes), {19.0 / 35.0, 0});
}

TEST(Resize, AntialiasStretchesTheKernel) {
  // Scale one half: weights 1/8, 3/8, 3/8, 1/8 around 0.5, the first of them on the repeated edge.
  Attributes attributes = rules("linear", "half_pixel");
  attributes["antialias"] = std::int64_t{1};
  expect_values(resize_to(reals({8, 0, 0, 0}), 2, attributes), {4, 0});
  attributes["exclude_outside"] = std::int64_t{1};
  expect_values(resize_to(reals({7, 0, 0, 0}), 2, attributes), {3, 0});
}

TEST(Resize, KeepsTheAspectRatio) {
  // 2 by 4 into 7 by 8: scales 3.5 and 2.
  const Tensor x = counting({1, 1, 2, 4});
  const Tensor sizes = codes(DType::int64, {2}, {7, 8});
  Attributes attributes{{"axes", std::vector<std::int64_t>{2, 3}}};
  attributes["keep_aspect_ratio_policy"] = std::string("not_larger");
  const auto smaller = run_op("Resize", {&x, nullptr, nullptr, &sizes}, attributes, 19);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->front().shape(), (Shape{1, 1, 4, 8}));
  attributes["keep_aspect_ratio_policy"] = std::string("not_smaller");
  const auto larger = run_op("Resize", {&x, nullptr, nullptr, &sizes}, attributes, 19);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->front().shape(), (Shape{1, 1, 7, 14}));
}

TEST(Resize, MultipliesExtentsInFloat32) {
  const auto resized = resize_by(counting({10}), static_cast<double>(0.7F), rules("nearest", "asymmetric"));
  ASSERT_TRUE(resized);
  EXPECT_EQ(resized->front().shape(), (Shape{7}));
}

TEST(Resize, RoundsOutwardAtOpset10) {
  // Coordinates 0 and 1.67: up when shrinking, down when growing.
  EXPECT_EQ(first_output("Resize", {reals({1, 2, 3, 4}), reals({0.6})}, {}, 10), reals({1, 3}));
  EXPECT_EQ(first_output("Resize", {reals({1, 2}), reals({1.5})}, {}, 10), reals({1, 1, 2}));
}

TEST(Resize, TruncatesInterpolatedIntegers) {
  const auto resized = resize_to(codes(DType::uint8, {2}, {0, 3}), 4, rules("linear", "half_pixel"));
  ASSERT_TRUE(resized);
  EXPECT_EQ(resized->front(), codes(DType::uint8, {4}, {0, 0, 2, 3}));
}

TEST(Resize, TreatsTheAxesOneAfterAnother) {
  const Tensor x = reals({2, 2}, {0, 4, 8, 12});
  const Tensor sizes = codes(DType::int64, {2}, {3, 2});
  const auto resized = run_op("Resize", {&x, nullptr, nullptr, &sizes}, rules("linear", "align_corners"), 13);
  ASSERT_TRUE(resized);
  EXPECT_EQ(resized->front(), reals({3, 2}, {0, 4, 4, 8, 8, 12}));
}

TEST(Resize, RefusesImpossibleRequests) {
  const Attributes linear = rules("linear", "half_pixel");
  const Tensor x = reals({1, 2});
  for (const double scale : {0.0, -1.0, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(resize_by(x, scale, linear)) << scale;
  }
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{1} << 40U}) EXPECT_FALSE(resize_to(x, size, linear));
  EXPECT_FALSE(resize_to(reals({0}, {}), 3, linear));
  EXPECT_THAT(error_of("Resize", {x}, {}, 13), HasSubstr("0 scales and 0 sizes; expected one of the two"));
  EXPECT_THAT(error_of("Resize", {x, reals({0.0, 1.0}), reals({1.0, 2.0})}, {}, 13),
              HasSubstr("expected 1 numbers for 1 axes"));
  EXPECT_THAT(resize_to(x, 3, {{"mode", std::string("area")}}).error().message,
              HasSubstr("expected one of nearest, linear, cubic"));
  EXPECT_THAT(resize_to(x, 3, rules("linear", "tf_crop_and_resize")).error().message, HasSubstr("needs roi"));
}

TEST(Upsample, RepeatsElementsAndTakesScalesFromEitherPlace) {
  EXPECT_EQ(first_output("Upsample", {reals({1, 2})}, {{"scales", std::vector<double>{2.0}}}, 7), reals({1, 1, 2, 2}));
  EXPECT_EQ(first_output("Upsample", {reals({1, 2}), reals({2.0})}, {{"mode", std::string("linear")}}, 9),
            reals({1, 1.5, 2, 2}));
  EXPECT_FALSE(error_of("Upsample", {reals({1, 2}), reals({0.5})}, {}, 9).empty());
}

TEST(OriginalCoordinate, IsExactWhereItIsWhole) {
  // 7 * 1.5 = 10.5 becomes 10: the first coordinate is exactly 0, which the text's own order of operations misses.
  const AxisResample to{.axis = 0, .extent = 10, .scale_output = 1.5};
  EXPECT_EQ(original_coordinate(0, 7, to, Coordinates::half_pixel_symmetric), 0.0);
  // 3 elements of 7 into 49: every seventh is whole.
  const AxisResample sizes{.axis = 0, .extent = 49, .scale_output = 49, .scale_input = 7};
  for (std::int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(original_coordinate(7 * i, 7, sizes, Coordinates::asymmetric), static_cast<double>(i));
  }
}

}  // namespace
}  // namespace assay::reference
