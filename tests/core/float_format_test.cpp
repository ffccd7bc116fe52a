#include "harness/core/float_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace assay::core {
namespace {

constexpr std::array kSmallTypes{DType::float16,    DType::bfloat16,       DType::float8e4m3fn, DType::float8e4m3fnuz,
                                 DType::float8e5m2, DType::float8e5m2fnuz, DType::float4e2m1,   DType::float8e8m0};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FloatFormat, EveryNumberKeepsItsCodeAndItsValue) {
  for (const DType type : kSmallTypes) {
    const FloatFormat& format = float_format(type);
    for (std::uint32_t code = 0; code < 1U << element_size_bits(type); ++code) {
      const double value = decode_float(code, format);
      if (std::isnan(value)) continue;  // of which there are several codes
      EXPECT_EQ(encode_float(value, format), code) << dtype_name(type);
      if (type != DType::float8e8m0) {
        EXPECT_EQ(round_to_format(value, format), value) << dtype_name(type);
      }
    }
  }
}

TEST(FloatFormat, HasTheLargestAndLeastNumbersOfItsDefinition) {
  EXPECT_EQ(largest_value(float_format(DType::float16)), 65504.0);
  EXPECT_EQ(largest_value(float_format(DType::bfloat16)), 0x1.FEp127);
  EXPECT_EQ(largest_value(float_format(DType::float8e4m3fn)), 448.0);
  EXPECT_EQ(largest_value(float_format(DType::float8e4m3fnuz)), 240.0);
  EXPECT_EQ(largest_value(float_format(DType::float8e5m2)), 57344.0);
  EXPECT_EQ(largest_value(float_format(DType::float8e5m2fnuz)), 57344.0);
  EXPECT_EQ(largest_value(float_format(DType::float4e2m1)), 6.0);
  EXPECT_EQ(largest_value(float_format(DType::float8e8m0)), 0x1p127);
  EXPECT_EQ(decode_float(1, float_format(DType::float8e4m3fn)), 0x1p-9);
  EXPECT_EQ(decode_float(1, float_format(DType::float8e4m3fnuz)), 0x1p-10);
  EXPECT_EQ(decode_float(1, float_format(DType::float8e5m2)), 0x1p-16);
  EXPECT_EQ(decode_float(1, float_format(DType::float8e5m2fnuz)), 0x1p-17);
  EXPECT_EQ(decode_float(0, float_format(DType::float8e8m0)), 0x1p-127);
}

TEST(FloatFormat, HasTheSpecialCodesOfItsDefinition) {
  EXPECT_TRUE(std::isnan(decode_float(0x7F, float_format(DType::float8e4m3fn))));
  EXPECT_TRUE(std::isnan(decode_float(0x80, float_format(DType::float8e4m3fnuz))));
  EXPECT_TRUE(std::isnan(decode_float(0x80, float_format(DType::float8e5m2fnuz))));
  EXPECT_TRUE(std::isnan(decode_float(0xFF, float_format(DType::float8e8m0))));
  EXPECT_EQ(decode_float(0xFC, float_format(DType::float8e5m2)), -kInfinity);
  EXPECT_TRUE(std::isnan(decode_float(0x7D, float_format(DType::float8e5m2))));
}

TEST(FloatFormat, RoundsTiesToTheEvenFraction) {
  const FloatFormat& format = float_format(DType::float8e4m3fn);
  EXPECT_EQ(round_to_format(17.0, format), 16.0);  // neighbours of 16 are 2 apart
  EXPECT_EQ(round_to_format(19.0, format), 20.0);
  EXPECT_EQ(round_to_format(464.0, format), 448.0);  // halfway to 480, which would be NaN's code
  EXPECT_TRUE(std::isnan(round_to_format(465.0, format)));
  EXPECT_EQ(round_to_format(-0x1p-10, format), 0.0);  // half of the least number
}

TEST(Codes, OfAFloatingPointTypeSaturateAndRoundToTheEvenOne) {
  EXPECT_EQ(nearest_code(1000, DType::float8e4m3fn), 448);
  EXPECT_EQ(nearest_code(-1e6, DType::float8e5m2), -57344);
  EXPECT_EQ(nearest_code(1.0625, DType::float8e4m3fn), 1);     // halfway between 1 and 1.125
  EXPECT_EQ(nearest_code(1.1875, DType::float8e4m3fn), 1.25);  // halfway between 1.125 and 1.25
  EXPECT_EQ(nearest_code(0x1p-10, DType::float8e4m3fn), 0);    // half of the least number
  EXPECT_EQ(nearest_code(300.5, DType::int8), 127);
  EXPECT_EQ(nearest_code(2.5, DType::int8), 2);
}

TEST(Codes, LieTheFurtherApartTheLargerTheyAre) {
  EXPECT_EQ(half_gap(100, DType::int8), 0.5);
  EXPECT_EQ(half_gap(0, DType::float8e4m3fn), 0x1p-10);
  EXPECT_EQ(half_gap(0x1p-7, DType::float8e4m3fn), 0x1p-10);  // subnormal
  EXPECT_EQ(half_gap(1, DType::float8e4m3fn), 0x1p-4);
  EXPECT_EQ(half_gap(-1.9, DType::float8e4m3fn), 0x1p-4);
  EXPECT_EQ(half_gap(448, DType::float8e4m3fn), 16);
  EXPECT_EQ(half_gap(3, DType::float8e5m2), 0.25);
}

TEST(FloatFormat, OverflowsAsTheFormatCan) {
  EXPECT_EQ(round_to_format(1e9, float_format(DType::float8e5m2)), kInfinity);
  EXPECT_TRUE(std::isnan(round_to_format(-kInfinity, float_format(DType::float8e4m3fnuz))));
  EXPECT_EQ(round_to_format(-kInfinity, float_format(DType::float4e2m1)), -6.0);
  EXPECT_FALSE(std::signbit(round_to_format(-0.0, float_format(DType::float8e5m2fnuz))));
}

}  // namespace
}  // namespace assay::core
