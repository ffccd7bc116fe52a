#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor cast_to(DType type, const Tensor& x) {
  return first_output("Cast", {x}, {{"to", static_cast<std::int64_t>(type)}});
}

TEST(Cast, TruncatesRealsTowardsZero) {
  EXPECT_THAT(cast_to(DType::int32, reals({1.9, -1.9, 0.5, -0.5})).integers(), ElementsAre(1, -1, 0, 0));
}

TEST(Cast, StopsRealsAtTheEndsOfTheType) {
  EXPECT_THAT(cast_to(DType::int8, reals({300, -300, kInf, -kInf, std::nan("")})).integers(),
              ElementsAre(127, -128, 127, -128, 0));
  EXPECT_THAT(cast_to(DType::int64, reals({1e30, -1e30})).integers(),
              ElementsAre(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()));
}

TEST(Cast, KeepsTheLowBitsOfIntegers) {
  const Tensor x = codes(DType::int64, {4}, {200, -200, 65535, 256});
  EXPECT_THAT(cast_to(DType::int8, x).integers(), ElementsAre(-56, 56, -1, 0));
  EXPECT_THAT(cast_to(DType::uint8, x).integers(), ElementsAre(200, 56, 255, 0));
}

TEST(Cast, RoundsToFloat16WithTiesToEvenAndOverflowsToInfinity) {
  // Neighbours of 2048 are 2 apart; the largest float16 is 65504, and from 65520 on it is infinity.
  EXPECT_EQ(cast_to(DType::float16, reals({2049, 2051, 65519, 65520, 0x1p-25, 0x1.8p-25})).to_reals(),
            (std::vector<double>{2048, 2052, 65504, kInf, 0, 0x1p-24}));
}

TEST(Cast, RoundsToBfloat16) {
  // Eight significant bits: neighbours of 256 are 2 apart.
  EXPECT_EQ(cast_to(DType::bfloat16, reals({257, 259})).to_reals(), (std::vector<double>{256, 260}));
}

TEST(Cast, RoundsLargeIntegersToFloat32Once) {
  // By way of float64 the last bit would make a tie first: 2^24 + 1 scaled by 2^30, plus 1.
  const std::int64_t above_tie = (((std::int64_t{1} << 24U) + 1) << 30U) + 1;
  EXPECT_EQ(cast_to(DType::float32, codes(DType::int64, {}, {above_tie})).reals()[0],
            static_cast<double>(static_cast<float>(above_tie)));
  EXPECT_EQ(cast_to(DType::float32, codes(DType::int64, {}, {above_tie})).reals()[0], 0x1.000002p54);
}

TEST(Cast, RoundsRealsToTheirOwnLabel) {
  const Tensor unrounded(DType::float32, {1}, std::vector<double>{0.1});
  EXPECT_EQ(cast_to(DType::float32, unrounded).reals()[0], static_cast<double>(0.1F));
}

TEST(Cast, MakesBooleansOfWhatIsNotZero) {
  EXPECT_THAT(cast_to(DType::boolean, reals({0.0, -0.0, 0.1, -3.0})).integers(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(cast_to(DType::boolean, codes(DType::int64, {2}, {256, 0})).integers(), ElementsAre(1, 0));
}

TEST(Cast, Float8StopsAtItsLargestUnlessToldNotTo) {
  const Tensor x = reals({1000, -kInf, std::nan("")});
  const std::vector<double> saturated = cast_to(DType::float8e4m3fn, x).to_reals();
  EXPECT_EQ(saturated[0], 448);
  EXPECT_EQ(saturated[1], -448);
  EXPECT_TRUE(std::isnan(saturated[2]));
  const auto open = [&](DType type) {
    return first_output("Cast", {x}, {{"to", static_cast<std::int64_t>(type)}, {"saturate", std::int64_t{0}}}, 19)
        .to_reals();
  };
  EXPECT_TRUE(std::isnan(open(DType::float8e4m3fnuz)[0]));
  EXPECT_EQ(open(DType::float8e5m2)[1], -kInf);
}

TEST(Cast, PowersOfTwoRoundUpUnlessToldOtherwise) {
  const auto cast_as = [](const std::string& mode, bool saturate) {
    const Attributes attributes{
        {"to", std::int64_t{24}}, {"round_mode", mode}, {"saturate", std::int64_t{saturate ? 1 : 0}}};
    return first_output("Cast", {reals({3, 2.5, 4, 0})}, attributes, 24).to_reals();
  };
  EXPECT_EQ(cast_as("up", true), (std::vector<double>{4, 4, 4, 0x1p-127}));
  EXPECT_EQ(cast_as("down", true), (std::vector<double>{2, 2, 4, 0x1p-127}));
  const std::vector<double> nearest = cast_as("nearest", false);
  EXPECT_EQ(nearest[0], 4);  // the tie goes up
  EXPECT_EQ(nearest[1], 2);
  EXPECT_TRUE(std::isnan(nearest[3]));
}

TEST(Cast, BelowAByteTheLowBitsRemain) {
  EXPECT_THAT(cast_to(DType::int4, reals({7.9, 8, -9})).integers(), ElementsAre(7, -8, 7));
  EXPECT_THAT(cast_to(DType::uint2, codes(DType::int64, {3}, {3, 4, -1})).integers(), ElementsAre(3, 0, 3));
}

TEST(Cast, RefusesStringsAndUnknownTypes) {
  EXPECT_THAT(error_of("Cast", {reals({1.0})}, {{"to", std::int64_t{8}}}), HasSubstr("to=8"));
  EXPECT_THAT(error_of("Cast", {reals({1.0})}, {{"to", std::int64_t{-1}}}), HasSubstr("to=-1"));
  EXPECT_THAT(error_of("Cast", {reals({1.0})}), HasSubstr("to=0"));
}

TEST(CastLike, TakesTheTypeOfTheSecondInput) {
  EXPECT_EQ(first_output("CastLike", {reals({1.9, -1.9}), codes(DType::int8, {}, {0})}),
            codes(DType::int8, {2}, {1, -1}));
}

}  // namespace
}  // namespace assay::reference
