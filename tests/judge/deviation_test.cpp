#include "harness/judge/evidence/deviation.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::judge {
namespace {

core::Tensor reals(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return core::Tensor(core::DType::float32, {count}, std::move(values));
}

TEST(Deviation, SumsByHand) {
  const Deviation sums = measure_deviation(reals({3, -4, 0}), reals({3, -2, 1}));
  EXPECT_EQ(sums.signal, 25);
  EXPECT_EQ(sums.energy, 14);
  EXPECT_EQ(sums.product, 17);
  EXPECT_EQ(sums.noise, 5);
  EXPECT_EQ(sums.largest, 2);
  EXPECT_DOUBLE_EQ(sums.sqnr_db(), 10 * std::log10(5));
  EXPECT_DOUBLE_EQ(sums.cosine(), 17 / std::sqrt(25.0 * 14));
}

TEST(Deviation, NothingDiffersIsInfiniteSqnr) {
  EXPECT_EQ(measure_deviation(reals({1, HUGE_VAL}), reals({1, HUGE_VAL})).sqnr_db(), HUGE_VAL);
}

TEST(Deviation, NoSignalHasNoSqnr) {
  EXPECT_TRUE(std::isnan(measure_deviation(reals({0, 0}), reals({0, 1})).sqnr_db()));
  EXPECT_TRUE(std::isnan(measure_deviation(reals({0, 0}), reals({0, 1})).cosine()));
}

TEST(Deviation, NanIsNotForgotten) {
  EXPECT_TRUE(std::isnan(measure_deviation(reals({1, 2, 3}), reals({1, std::nan(""), 9})).largest));
}

}  // namespace
}  // namespace assay::judge
