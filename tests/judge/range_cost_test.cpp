#include "harness/judge/audit/range_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/rng.hpp"

namespace assay::judge {
namespace {

constexpr double kLevels = 255;

std::vector<double> normal(std::size_t count) {
  core::Rng rng(91);
  std::vector<double> values(count);
  for (double& value : values) value = rng.normal();
  std::ranges::sort(values);
  return values;
}
double extent_of(const std::vector<double>& values) { return std::max(-values.front(), values.back()); }

TEST(RangeCost, ASearchForTheLeastDivergenceDoesNotCutAThirdOfANormalRange) {
  const std::vector<double> values = normal(20000);
  const double extent = extent_of(values);
  const Divergence cost(values);
  const double most = cost.most(cost.of(-extent, extent, kLevels));
  EXPECT_LE(cost.of(-0.7 * extent, 0.7 * extent, kLevels), most) << "as TensorRT's do: beyond 2.8 deviations";
  EXPECT_GT(cost.of(-0.3 * extent, 0.3 * extent, kLevels), most) << "a fifth of the values";
}

TEST(RangeCost, AnOutlierMayBeCut) {
  std::vector<double> values = normal(20000);
  values.back() = 40;
  const Divergence divergence(values);
  EXPECT_LE(divergence.of(-5, 5, kLevels), divergence.most(divergence.of(-40, 40, kLevels)));
}

TEST(RangeCost, OneHalfMoreSquaredErrorThanTheWholeRangesIsTheMost) {
  const std::vector<double> values = normal(20000);
  const double extent = extent_of(values);
  const SquaredError cost(values);
  const double most = cost.most(cost.of(-extent, extent, kLevels));
  EXPECT_LE(cost.of(-0.95 * extent, 0.95 * extent, kLevels), most);
  EXPECT_GT(cost.of(-0.5 * extent, 0.5 * extent, kLevels), most);
}

TEST(RangeCost, EveryRangeThatCostsNoMoreReachesTheNarrowestEnds) {
  const std::vector<double> values = normal(5000);
  const double extent = extent_of(values), low = values.front(), high = values.back();
  const SquaredError squares(values);
  const Divergence divergence(values);
  for (const RangeCost* cost : {static_cast<const RangeCost*>(&squares), static_cast<const RangeCost*>(&divergence)}) {
    const Interval even = cost->narrowest(values, kLevels, true), own = cost->narrowest(values, kLevels, false);
    EXPECT_GT(own.high, 0.3 * high) << "but no range is as narrow as that";
    const double whole = cost->most(cost->of(-extent, extent, kLevels)),
                 ends = cost->most(cost->of(low, high, kLevels));
    for (double share = 1; share > 0.05; share -= 0.01) {
      if (cost->of(-share * extent, share * extent, kLevels) <= whole) {
        EXPECT_GE(share * extent, even.high);
      }
      if (cost->of(low, share * high, kLevels) <= ends) {
        EXPECT_GE(share * high, own.high);
      }
      if (cost->of(share * low, high, kLevels) <= ends) {
        EXPECT_LE(share * low, own.low);
      }
    }
  }
}

TEST(RangeCost, WhereNoValueIsNearZeroADivergenceSaysNothing) {
  std::vector<double> values = normal(5000);
  for (double& value : values) value += 20;
  converters::Policy policy;
  EXPECT_EQ(searched_cost(converters::Method::entropy, policy, values), nullptr);
  EXPECT_NE(searched_cost(converters::Method::mse, policy, values), nullptr);
  EXPECT_EQ(searched_cost(converters::Method::minmax, policy, values), nullptr);
  policy.histogram = converters::HistogramBins::whole_range;
  EXPECT_EQ(searched_cost(converters::Method::entropy, policy, normal(5000)), nullptr) << "nothing is cut there";
}

}  // namespace
}  // namespace assay::judge
