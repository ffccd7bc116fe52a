#include "harness/conformance/difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::conformance {
namespace {

using core::DType;
using core::Tensor;
using judge::Facet;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Tensor reals(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {DType::float32, {size}, std::move(values)};
}

TEST(Compare, AllowsExactlyTheLimit) {
  const std::vector<double> limits{0.25, 0.25};
  EXPECT_EQ(compare(reals({1, 2}), reals({1.25, 2}), limits).facet, std::nullopt);
  EXPECT_EQ(compare(reals({1, 2}), reals({1.25, 2}), limits).margin, 1.0);
  const Difference beyond = compare(reals({1, 2}), reals({1, 2.26}), limits);
  EXPECT_EQ(beyond.facet, Facet::numerics);
  EXPECT_EQ(beyond.worst, 1U);
  EXPECT_EQ(beyond.text, "element [1]: expected 2, actual 2.26, limit 0.25 (1 of 2 beyond)");
}

TEST(Compare, WantsNanWhereNanIsAndInfinityOfTheSameSign) {
  const std::vector<double> limits{1e9};
  EXPECT_EQ(compare(reals({kNan}), reals({kNan}), limits).facet, std::nullopt);
  EXPECT_EQ(compare(reals({kNan}), reals({0}), limits).facet, Facet::nan);
  EXPECT_EQ(compare(reals({0}), reals({kNan}), limits).facet, Facet::nan);
  EXPECT_EQ(compare(reals({kInfinity}), reals({kInfinity}), limits).facet, std::nullopt);
  EXPECT_EQ(compare(reals({kInfinity}), reals({-kInfinity}), limits).facet, Facet::numerics);
  EXPECT_EQ(compare(reals({kInfinity}), reals({1e30}), limits).facet, Facet::numerics);
  EXPECT_EQ(compare(reals({kInfinity}), reals({1e39}), limits).facet, std::nullopt) << "float32 overflows";
  EXPECT_EQ(compare(reals({1e30}), reals({kInfinity}), limits).facet, Facet::numerics);
}

TEST(Compare, WantsIntegersAndBooleansEqual) {
  const Tensor expected(DType::int64, {2, 2}, std::vector<std::int64_t>{1, 2, 3, 4});
  const Tensor actual(DType::int64, {2, 2}, std::vector<std::int64_t>{1, 2, 3, 5});
  EXPECT_EQ(compare(expected, expected, {}).facet, std::nullopt);
  EXPECT_EQ(compare(expected, actual, {}).facet, Facet::integers);
  EXPECT_EQ(compare(expected, actual, {}).text, "element [1,1]: expected 4, actual 5 (1 of 4 differ)");
}

TEST(Compare, LooksAtShapeAndTypeFirst) {
  const Tensor scalar(DType::float32, {}, std::vector<double>{1});
  EXPECT_EQ(compare(scalar, reals({1}), std::vector{0.0}).facet, Facet::shape);
  EXPECT_EQ(compare(reals({1}), Tensor(DType::float64, {1}, std::vector<double>{1}), std::vector{0.0}).facet,
            Facet::dtype);
  const Tensor empty(DType::float32, {0, 3}, std::vector<double>{});
  EXPECT_EQ(compare(empty, empty, {}).facet, std::nullopt);
}

}  // namespace
}  // namespace assay::conformance
