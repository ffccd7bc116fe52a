#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/integers/overflow.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// MatMul of [1,K] uint8 codes with K weights of code 127; scales are 1 and the input's zero_point 0.
struct LongSum {
  explicit LongSum(std::int64_t products)
      : depth(products),
        judged(parse(head(products) + "{ y = MatMul(x, w) }",
                     {{"w", reals({products, 1}, std::vector<double>(static_cast<std::size_t>(products), 127))}}),
               parse(head(products) + "{ xq = QuantizeLinear(x, s, zu) xd = DequantizeLinear(xq, s, zu)"
                                      " wd = DequantizeLinear(wq, s, zi) m = MatMul(xd, wd)"
                                      " yq = QuantizeLinear(m, ys, zi) y = DequantizeLinear(yq, ys, zi) }",
                     {{"s", Tensor::scalar(DType::float32, 1)},
                      {"ys", Tensor::scalar(DType::float32, 0x1p26)},
                      {"zu", codes(DType::uint8, {}, {0})},
                      {"zi", codes(DType::int8, {}, {0})},
                      {"wq", codes(DType::int8, {products, 1},
                                   std::vector<std::int64_t>(static_cast<std::size_t>(products), 127))}})) {}
  static std::string head(std::int64_t products) {
    return "g (float[1," + std::to_string(products) + "] x) => (float[1,1] y) ";
  }
  std::vector<Finding> check(double x) {
    judged.add("typical", {{"x", reals({1, depth}, std::vector<double>(static_cast<std::size_t>(depth), x))}},
               {{"y", reals({1, 1}, {0})}});
    return check_overflow(judged.context(), judged.prepared(), judged.judgement);
  }

  std::int64_t depth;
  Judged judged;
};

// 255·127·66311 = 2147481735 < 2³¹ = 2147483648 < 255·127·66312 = 2147514120.
TEST(Overflow, SaysNothingWhereNoCodesReachIt) {
  LongSum sum(66311);
  EXPECT_THAT(sum.check(255), IsEmpty());
  EXPECT_THAT(sum.judged.judgement.metrics, IsEmpty());
}

TEST(Overflow, RecordsAWorstCaseThatTheDataDoNotReach) {
  LongSum sum(66312);
  EXPECT_THAT(sum.check(254), IsEmpty());
  ASSERT_EQ(sum.judged.judgement.metrics.size(), 1U);
  EXPECT_EQ(sum.judged.judgement.metrics[0].name, "accumulator_worst");
  EXPECT_EQ(sum.judged.judgement.metrics[0].value, 2147514120.0 / 2147483648.0);
}

TEST(Overflow, FailsWhereTheDataReachIt) {
  LongSum sum(66312);
  const auto findings = sum.check(255);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].facet, Facet::integers);
  EXPECT_EQ(findings[0].layer, "L0");
  EXPECT_EQ(findings[0].op, "MatMul");
  EXPECT_THAT(findings[0].message, HasSubstr("1 of 1 sums of products leave 32 bits, the farthest is 2147514120"));
}

TEST(Overflow, IsNoMatterToANodeThatRunsInFloat) {
  LongSum reported(66312);
  reported.judged.evidence.conversion.precision = {{"y", "MatMul", "fp32"}};
  EXPECT_THAT(reported.check(255), IsEmpty());
  LongSum stated(66312);
  stated.judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::floating;
  EXPECT_THAT(stated.check(255), IsEmpty());
}

}  // namespace
}  // namespace assay::judge::testing
