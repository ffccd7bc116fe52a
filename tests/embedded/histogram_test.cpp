#include "converters/embedded/histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/rng.hpp"

namespace assay::embedded {
namespace {

/// Normal values with `outliers` at `far`.
Histogram bell(float far, int outliers) {
  core::Rng rng(3);
  std::vector<float> values;
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<float>(rng.normal()));
  for (int i = 0; i < outliers; ++i) values.push_back(far);
  Range range;
  for (const float value : values) {
    range.low = std::min(range.low, static_cast<double>(value));
    range.high = std::max(range.high, static_cast<double>(value));
  }
  Histogram histogram(range);
  histogram.add(values);
  return histogram;
}

TEST(Histogram, CountsEveryValueOnce) {
  Histogram histogram(Range{0, 2048});
  const std::vector<float> values{0, 0.5F, 1, 2047.5F, 2048};
  histogram.add(values);
  EXPECT_EQ(histogram.total(), 5U);
  EXPECT_EQ(histogram.zeros(), 1U);
  EXPECT_EQ(histogram.counts()[0], 2U);
  EXPECT_EQ(histogram.counts()[1], 1U);
  EXPECT_EQ(histogram.counts()[2047], 2U) << "the upper end belongs to the last bin";
}

TEST(EntropyRange, StaysBetweenAnEighthOfTheBinsAndTheLargestMagnitude) {
  const auto histogram = bell(40, 1);
  const auto range = entropy_range(histogram);
  EXPECT_LE(range.high, 40.0);
  EXPECT_GE(range.high, 40.0 * 128 / 2048);
  EXPECT_LT(range.high, 20.0) << "a single outlier is cut";
}

TEST(EntropyRange, FewValuesDoNotCutAUniformRange) {
  Histogram uniform(Range{-1, 1});
  std::vector<float> values;
  for (int i = 0; i < 240; ++i) values.push_back(static_cast<float>(i) / 120 - 1);
  uniform.add(values);
  EXPECT_GT(entropy_range(uniform).high, 0.9);
}

TEST(EntropyRange, NeverWidensASide) {
  Histogram histogram(Range{0, 6});
  histogram.add(std::vector<float>{0, 1, 2, 3, 6});
  EXPECT_GE(entropy_range(histogram).low, 0.0);
}

TEST(PercentileRange, LeavesTheShareInside) {
  Histogram histogram(Range{0, 2048});
  std::vector<float> values;
  for (int i = 0; i < 2048; ++i) values.push_back(static_cast<float>(i) + 0.5F);
  histogram.add(values);
  // One percent of 2048 values is 20.48, ten on each side.
  const auto range = percentile_range(histogram, 99, false);
  EXPECT_EQ(range.low, 10);
  EXPECT_EQ(range.high, 2038);
  const auto symmetric = percentile_range(histogram, 99, true);
  EXPECT_EQ(symmetric.high, 2028);
}

TEST(PercentileRange, HundredPercentIsMinMax) {
  const auto histogram = bell(9, 2);
  EXPECT_EQ(percentile_range(histogram, 100, false), histogram.range());
}

TEST(MseRange, CutsAFarOutlierAndKeepsAUniformRange) {
  EXPECT_LT(mse_range(bell(30, 1), false, 255).high, 29.5);
  Histogram uniform(Range{-1, 1});
  std::vector<float> values;
  for (int i = 0; i < 4096; ++i) values.push_back(static_cast<float>(i) / 2048 - 1);
  uniform.add(values);
  EXPECT_GT(mse_range(uniform, false, 255).high, 0.98);
}

}  // namespace
}  // namespace assay::embedded
