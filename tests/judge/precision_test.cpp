#include "harness/judge/evidence/precision.hpp"

#include <gtest/gtest.h>

namespace assay::judge {
namespace {

TEST(Precision, EveryWordReadsBackAsItself) {
  for (const Precision precision : {Precision::int8, Precision::int8_allowed, Precision::fp16, Precision::fp32}) {
    const auto read = precision_of(core::word_of(precision));
    ASSERT_TRUE(read) << core::word_of(precision);
    EXPECT_EQ(*read, precision);
  }
}

TEST(Precision, UnknownWordIsNamedWithTheNearest) {
  const auto read = precision_of("int9");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "no precision is called \"int9\"; nearest: int8, int8?, fp16, fp32");
}

TEST(Precision, OnlyFp16AndFp32AreFloat) {
  EXPECT_FALSE(is_float(Precision::int8));
  EXPECT_FALSE(is_float(Precision::int8_allowed));
  EXPECT_TRUE(is_float(Precision::fp16));
  EXPECT_TRUE(is_float(Precision::fp32));
}

TEST(Precision, ReportedFloatTypesAreNotInt8) {
  EXPECT_TRUE(ran_in_int8({.node = "n", .op = "Conv", .got = "int8"}));
  EXPECT_FALSE(ran_in_int8({.node = "n", .op = "Conv", .got = "fp32"}));
}

}  // namespace
}  // namespace assay::judge
