#include "converters/embedded/scales.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

double rounded32(double value) { return static_cast<double>(static_cast<float>(value)); }

TEST(ActivationParams, AsymmetricUint8CoversTheRangeAndZero) {
  const auto params = activation_params({-1, 4.1}, DType::uint8, false);
  EXPECT_EQ(params.scale[0], rounded32(5.1 / 255));  // 0.02
  EXPECT_EQ(params.zero_point[0], 50);
}

TEST(ActivationParams, AsymmetricInt8ShiftsTheZeroPointBy128) {
  const auto params = activation_params({-1, 4.1}, DType::int8, false);
  EXPECT_EQ(params.zero_point[0], -78);
}

TEST(ActivationParams, ARangeAwayFromZeroIsWidenedToZero) {
  EXPECT_EQ(activation_params({2, 5.1}, DType::uint8, false).scale[0], rounded32(5.1 / 255));
  EXPECT_EQ(activation_params({2, 5.1}, DType::uint8, false).zero_point[0], 0);
  EXPECT_EQ(activation_params({-5.1, -2}, DType::int8, false).zero_point[0], 127);
}

TEST(ActivationParams, SymmetricDividesBy127) {
  const auto params = activation_params({-2.54, 1}, DType::int8, true);
  EXPECT_EQ(params.scale[0], rounded32(0.02));
  EXPECT_EQ(params.zero_point[0], 0);
  EXPECT_EQ(activation_params({-2.54, 1}, DType::uint8, true).zero_point[0], 128);
}

TEST(ScaleIndex, BlocksCountAlongTheirAxisAndTheLastIsShort) {
  const ScaleIndex rows({5, 3}, 0, 2);
  EXPECT_EQ(rows.shape(), (core::Shape{3, 3}));
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(rows.of(i), i / 3 / 2 * 3 + i % 3) << i;
  const ScaleIndex columns({2, 5}, 1, 2);
  EXPECT_EQ(columns.shape(), (core::Shape{2, 3}));
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(columns.of(i), i / 5 * 3 + i % 5 / 2) << i;
}

TEST(ScaleIndex, AnAxisWithoutBlocksHasAScaleForEachIndex) {
  const ScaleIndex middle({2, 3, 2}, 1, 0);
  EXPECT_EQ(middle.shape(), (core::Shape{3}));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(middle.of(i), i / 2 % 3) << i;
  EXPECT_EQ(ScaleIndex({4}, std::nullopt, 0).of(3), 0U);
}

TEST(StoredWeightParams, FourBitsHaveSevenStepsOnEachSideOrFifteenInAll) {
  const Tensor weight = floats({4, 1}, {-0.75, 0.375, 0.8125, -0.125});
  const auto even = stored_weight_params(weight, 0, 2, DType::uint4, true);
  EXPECT_EQ(even.scale, (std::vector<double>{rounded32(0.75 / 7), rounded32(0.8125 / 7)}));
  EXPECT_EQ(even.zero_point, (std::vector<std::int64_t>{8, 8}));
  const auto whole = stored_weight_params(weight, 0, 2, DType::int4, false);
  EXPECT_EQ(whole.scale, (std::vector<double>{rounded32(1.125 / 15), rounded32(0.9375 / 15)}));
  EXPECT_EQ(whole.zero_point, (std::vector<std::int64_t>{2, -6}));
  const Tensor back = values_of(codes_of(weight, whole), whole);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_NEAR(back.as_real(i), weight.as_real(i), whole.scale[0] / 2 + 1e-6);
}

TEST(StoredWeightParams, ScalesAreRoundedToTheirType) {
  const Tensor weight = floats({6, 1}, {-0.75, 0.375, 0.8125, -0.125, 1e-7, 0});
  const auto powers = stored_weight_params(weight, 0, 2, DType::float4e2m1, true, DType::float8e8m0);
  EXPECT_EQ(powers.scale[0], 0.125);  // 2^floor(log2 0.75) / 4
  EXPECT_EQ(powers.scale[1], 0.125);
  const auto codes = stored_weight_params(weight, 0, 2, DType::float4e2m1, true, DType::float8e4m3fn);
  const double step = rounded32(rounded32(0.8125 / 6) / 448);
  EXPECT_EQ(codes.scale_step, std::vector<double>{step});
  EXPECT_EQ(codes.scale, (std::vector<double>{rounded32(416 * step), rounded32(448 * step), rounded32(0x1p-9 * step)}))
      << "413.5 is nearest to 416, and the least code stands for what would be 0";
  EXPECT_EQ(codes_of(weight, codes).to_reals(), (std::vector<double>{-6, 3, 6, -1, 0, 0}));
}

TEST(ActivationParams, ARangeWithoutExtentGetsAUsableScale) {
  for (const double tiny : {0.0, 1e-40, -1e-42}) {
    const auto params = activation_params({std::min(tiny, 0.0), std::max(tiny, 0.0)}, DType::int8, false);
    EXPECT_EQ(params.scale[0], 1.0) << tiny;
  }
}

TEST(ActivationParams, AHugeRangeStaysFinite) {
  const double most = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(activation_params({-most, most}, DType::int8, false).scale[0]));
}

TEST(CodeOf, RoundsTiesToEvenBeforeAddingTheZeroPoint) {
  EXPECT_EQ(code_of(2.5, 1, 1, DType::int8), 3);
  EXPECT_EQ(code_of(3.5, 1, 1, DType::int8), 5);
  EXPECT_EQ(code_of(-2.5, 1, 0, DType::int8), -2);
}

TEST(CodeOf, Saturates) {
  EXPECT_EQ(code_of(1e9, 0.1, 0, DType::int8), 127);
  EXPECT_EQ(code_of(-1e9, 0.1, 0, DType::uint8), 0);
  EXPECT_EQ(code_of(INFINITY, 0.1, 0, DType::int8), 127);
}

TEST(CodesOf, UsesTheScaleOfEachIndexAlongTheAxis) {
  QuantParams params{{1, 10}, {0, 0}, DType::int8, 1};
  const auto codes = codes_of(floats({2, 2, 1}, {3, 30, -3, -30}), params);
  EXPECT_EQ(codes.to_integers(), (std::vector<std::int64_t>{3, 3, -3, -3}));
}

TEST(MagnitudesAlong, LooksAtEveryIndexOfTheAxis) {
  const auto tensor = floats({2, 3}, {1, -5, 2, -4, 3, 0});
  EXPECT_EQ(magnitudes_along(tensor, 0), (std::vector<double>{5, 4}));
  EXPECT_EQ(magnitudes_along(tensor, 1), (std::vector<double>{4, 5, 2}));
  EXPECT_EQ(magnitudes_along(tensor, std::nullopt), (std::vector<double>{5}));
}

TEST(LargestCodeDistance, IsTheFartherEndOfTheType) {
  EXPECT_EQ(largest_code_distance({{1}, {-128}, DType::int8, {}}), 255);
  EXPECT_EQ(largest_code_distance({{1}, {0}, DType::int8, {}}), 128);
  EXPECT_EQ(largest_code_distance({{1}, {200}, DType::uint8, {}}), 200);
}

}  // namespace
}  // namespace assay::embedded
