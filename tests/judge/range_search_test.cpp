#include "harness/judge/evidence/range_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay::judge {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// 20,000 values in [-1, 1), evenly spread.
std::vector<double> spread() {
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) values.push_back(i / 10000.0 - 1);
  return values;
}

// The expected scales are what ESP-PPQ 1.3.12 (TorchHistObserver) finds for the same values.
TEST(RangeSearch, EndsWhereTheConverterDoes) {
  EXPECT_THAT(searched_scales(spread(), 0), ElementsAre(DoubleEq(1.0 / 4096 * 32))) << "nothing to gain";
  std::vector<double> cubes = spread();
  for (double& value : cubes) value = value * value * value * 8;
  EXPECT_THAT(searched_scales(cubes, 0), ElementsAre(DoubleEq(0.0625)));
  std::vector<double> outlier = spread();
  outlier.front() = 20;
  std::ranges::sort(outlier);
  EXPECT_THAT(searched_scales(outlier, 0), ElementsAre(DoubleEq(0.0146484375))) << "the outlier is cut off";
}

TEST(RangeSearch, WhatTheConverterMaySeeOtherwiseLeavesAChoice) {
  // Somewhere between no outlier and a far one it turns: next to that, float32 errors decide.
  int open = 0;
  for (int far = 0; far < 100; ++far) {
    std::vector<double> values;
    for (int i = 0; i < 400; ++i) values.push_back(std::pow(i / 200.0 - 1, 3));
    values.push_back(1 + far * 0.1);
    if (searched_scales(values, 0.02).size() > 1) ++open;
  }
  EXPECT_GT(open, 0);
}

TEST(RangeSearch, HasNoScaleForNothing) {
  EXPECT_THAT(searched_scales({}, 0), IsEmpty());
  EXPECT_THAT(searched_scales({0, 0}, 0), IsEmpty());
}

}  // namespace
}  // namespace assay::judge
