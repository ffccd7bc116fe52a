#include "converters/embedded/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

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

/// The divergence as its definition has it, bin by bin: Σ p·ln(p/q) over the total, less what scatter alone makes.
double plain_divergence(const std::vector<std::uint64_t>& counts, std::size_t bins) {
  constexpr std::size_t kLevels = 128;
  double total = 0, inside = 0, result = 0, freedom = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += static_cast<double>(counts[i]);
    inside += i < bins ? static_cast<double>(counts[i]) : 0;
  }
  for (std::size_t level = 0; level < kLevels; ++level) {
    const std::size_t begin = level * bins / kLevels, end = (level + 1) * bins / kLevels;
    double sum = 0, occupied = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += static_cast<double>(counts[i]);
      occupied += counts[i] > 0 ? 1 : 0;
    }
    freedom += occupied > 1 ? occupied - 1 : 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double p = static_cast<double>(counts[i]) + (i + 1 == bins ? total - inside : 0);
      const double q = counts[i] > 0 ? sum / occupied : 1e-9;
      result += p == 0 ? 0 : p / total * std::log(p / total / (q / inside));
    }
  }
  return result - freedom / (2 * total);
}

TEST(EntropyRange, CutsWhereThePlainDefinitionDivergesLeast) {
  for (const auto& [far, outliers] : {std::pair{6.0F, 3}, {10.0F, 1}, {25.0F, 40}, {40.0F, 1}}) {
    const Histogram histogram = bell(far, outliers);
    const Histogram magnitudes = histogram.magnitudes();  // no exact zeros among these values
    const std::vector<std::uint64_t>& counts = magnitudes.counts();
    ASSERT_GE(histogram.total(), 4 * counts.size()) << "else bins are joined first";
    std::size_t best = counts.size();
    double least = plain_divergence(counts, best);
    for (std::size_t bins = 128; bins < counts.size(); bins += counts.size() / 256) {
      const double candidate = plain_divergence(counts, bins);
      if (candidate < least) {
        least = candidate;
        best = bins;
      }
    }
    const double limit = magnitudes.range().high * static_cast<double>(best) / static_cast<double>(counts.size());
    EXPECT_EQ(entropy_range(histogram).high, std::min(histogram.range().high, limit)) << "outliers at " << far;
  }
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
