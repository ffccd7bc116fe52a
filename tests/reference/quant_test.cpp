#include "reference/quant.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>
#include <utility>
#include <vector>

namespace assay::reference {
namespace {

using core::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RoundHalfEven, TakesTiesToTheEvenNeighbour) {
  const std::vector<std::pair<double, double>> table{{0.5, 0.0},
                                                     {1.5, 2.0},
                                                     {2.5, 2.0},
                                                     {3.5, 4.0},
                                                     {-0.5, 0.0},
                                                     {-1.5, -2.0},
                                                     {-2.5, -2.0},
                                                     {2.4, 2.0},
                                                     {2.6, 3.0},
                                                     {-2.4, -2.0},
                                                     {-2.6, -3.0},
                                                     {7.0, 7.0},
                                                     {-7.0, -7.0},
                                                     {0.0, 0.0},
                                                     {1e15, 1e15},
                                                     {0.49999999999999994, 0.0},
                                                     {2.5000000000000004, 3.0}};
  for (const auto& [value, expected] : table) {
    EXPECT_EQ(round_half_even(value), expected) << value;
  }
}

TEST(RoundHalfEven, IgnoresTheRoundingModeOfTheProcessor) {
  const int mode = std::fegetround();
  for (const int other : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(other);
    EXPECT_EQ(round_half_even(2.5), 2.0);
    EXPECT_EQ(round_half_even(3.4), 3.0);
    EXPECT_EQ(round_half_even(-3.6), -4.0);
  }
  std::fesetround(mode);
}

TEST(RoundHalfEven, KeepsInfinities) {
  EXPECT_EQ(round_half_even(kInfinity), kInfinity);
  EXPECT_EQ(round_half_even(-kInfinity), -kInfinity);
}

TEST(Saturate, ClampsToEachTypesRange) {
  EXPECT_EQ(saturate(3e9, DType::uint8), 255);
  EXPECT_EQ(saturate(-1.0, DType::uint8), 0);
  EXPECT_EQ(saturate(128.0, DType::int8), 127);
  EXPECT_EQ(saturate(-129.0, DType::int8), -128);
  EXPECT_EQ(saturate(-128.0, DType::int8), -128);
  EXPECT_EQ(saturate(70000.0, DType::uint16), 65535);
  EXPECT_EQ(saturate(-40000.0, DType::int16), -32768);
  EXPECT_EQ(saturate(3e9, DType::int32), 2147483647);
  EXPECT_EQ(saturate(1e19, DType::int64), std::numeric_limits<std::int64_t>::max());
}

TEST(Saturate, TakesInfinitiesToTheEnds) {
  EXPECT_EQ(saturate(kInfinity, DType::uint8), 255);
  EXPECT_EQ(saturate(-kInfinity, DType::int8), -128);
}

TEST(Quantize, RoundsTiesBeforeAddingZeroPoint) {
  // 5 / 2 = 2.5 goes to 2, plus 1 is 3; adding first would give 3.5 and then 4.
  EXPECT_EQ(quantize(5.0, 2.0, 1, DType::uint8), 3);
  // -5 / 2 = -2.5 goes to -2, plus 1 is -1; adding first would give -1.5 and then -2.
  EXPECT_EQ(quantize(-5.0, 2.0, 1, DType::int8), -1);
}

TEST(Quantize, SeesWhichSideOfATieAFloat32ScaleLeaves) {
  // The float32 scale 0.1 is 0.100000001490116…: 0.25 / scale = 2.49999996… lies below the tie.
  EXPECT_EQ(quantize(0.25, static_cast<double>(0.1F), 0, DType::int8), 2);
}

TEST(Quantize, SaturatesInTheWideType) {
  EXPECT_EQ(quantize(3e9, 1.0, 0, DType::uint8), 255);
  EXPECT_EQ(quantize(3e9, 1.0, -128, DType::int8), 127);
  EXPECT_EQ(quantize(-3e9, 1.0, 127, DType::int8), -128);
  EXPECT_EQ(quantize(kInfinity, 0.5, 128, DType::uint8), 255);
  EXPECT_EQ(quantize(-kInfinity, 0.5, 128, DType::uint8), 0);
}

TEST(Quantize, GivesTheZeroPointForZero) {
  for (const std::int64_t zero_point : {-128, -1, 0, 17, 127}) {
    EXPECT_EQ(quantize(0.0, 0.37, zero_point, DType::int8), zero_point);
    EXPECT_EQ(dequantize(zero_point, 0.37, zero_point), 0.0);
  }
}

TEST(Quantize, StaysWithinHalfAStepOfEveryValueInRange) {
  const double scale = 0.0236;
  for (int i = -1200; i <= 1200; ++i) {
    const double x = i * 0.0025;
    const double back = dequantize(quantize(x, scale, 0, DType::int8), scale, 0);
    EXPECT_LE(std::abs(back - x), scale / 2 * (1 + 1e-12)) << x;
  }
}

TEST(Quantize, GivesTheSameForARowAsForEachElement) {
  const std::vector<double> x{-1e9, -2.5, -0.5, 0.0, 0.5, 1.5, 1e300, -kInfinity, kInfinity};
  std::vector<std::int64_t> codes(x.size());
  quantize(x, 1.0, 3, DType::int8, codes);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(codes[i], quantize(x[i], 1.0, 3, DType::int8)) << x[i];
  }
}

TEST(Dequantize, SubtractsTheZeroPointBeforeScaling) {
  EXPECT_EQ(dequantize(200, 0.5, 128), 36.0);
  EXPECT_EQ(dequantize(-128, 0.25, 127), -63.75);
}

TEST(Requantize, RoundsTheScaledAccumulatorThenAddsTheZeroPoint) {
  // 5 * (1 * 0.5 / 1) = 2.5 goes to 2, plus 3 is 5.
  EXPECT_EQ(requantize(5, 1.0, 0.5, 1.0, 3, DType::uint8), 5);
  // 1000 * (0.02 * 0.05 / 0.1) = 10.
  EXPECT_EQ(requantize(1000, 0.02, 0.05, 0.1, 0, DType::int8), 10);
  EXPECT_EQ(requantize(-70000, 0.5, 0.5, 0.25, 0, DType::int8), -128);
  EXPECT_EQ(requantize(std::int64_t{1} << 31, 1.0, 1.0, 1.0, 0, DType::uint8), 255);
}

}  // namespace
}  // namespace assay::reference
