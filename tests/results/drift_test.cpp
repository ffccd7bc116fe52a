#include "results/drift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace assay::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ResultRow verdict(double sqnr_db, const std::string& name = "conv/a", const std::string& family = "conv") {
  ResultRow row;
  row.key = {name, "default", "c", "1"};
  row.family = family;
  row.case_hash = "aa";
  row.verdict = "pass";
  row.gate = "green";
  row.stage = "judge";
  row.margin = 0.5;
  row.sqnr_db = sqnr_db;
  row.parameters = {{"x", {{0.5}, {3}, core::DType::int8, std::nullopt}},
                    {"w", {{0.25, 0.125}, {0, 0}, core::DType::int8, 0}}};
  return row;
}
AnchorRow anchor(const ResultRow& row, const Wobble& wobble = {}) { return {1, row, "2026-01-01", "first", wobble}; }
std::vector<std::string> kinds(const std::vector<Change>& changes) {
  std::vector<std::string> names;
  for (const Change& change : changes) names.emplace_back(change_name(change.kind));
  return names;
}
std::vector<ResultRow> series(const std::vector<double>& values) {
  std::vector<ResultRow> rows;
  for (const double value : values) rows.push_back(verdict(value));
  return rows;
}

TEST(DriftCase, NothingChangedIsNoChange) { EXPECT_THAT(changes_since(anchor(verdict(40)), verdict(40)), IsEmpty()); }

TEST(DriftCase, SqnrMayMoveThreeQuartersOfADecibelEitherWay) {
  EXPECT_THAT(changes_since(anchor(verdict(40)), verdict(39.25)), IsEmpty());
  EXPECT_THAT(changes_since(anchor(verdict(40)), verdict(40.75)), IsEmpty());
  const auto worse = changes_since(anchor(verdict(40)), verdict(39.125));
  ASSERT_THAT(kinds(worse), ElementsAre("sqnr"));
  EXPECT_EQ(worse[0].delta, -0.875);
  EXPECT_EQ(worse[0].detail, "40.00 → 39.12 dB (-0.88, limit 0.75)");
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40)), verdict(41))), ElementsAre("sqnr"));
}

TEST(DriftCase, AWobblingConverterMayMoveFiveOfItsDeviations) {
  const Wobble wobble{10, 1, false};
  EXPECT_DOUBLE_EQ(limit_db(wobble), 5 * std::sqrt(2.0));
  EXPECT_THAT(changes_since(anchor(verdict(40), wobble), verdict(33)), IsEmpty());
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40), wobble), verdict(32))), ElementsAre("sqnr"));
  EXPECT_EQ(limit_db({10, 0.1, false}), 0.75);  // 5·0.1·√2 = 0.707
}

TEST(DriftCase, AMarginAcrossOneIsAChange) {
  ResultRow now = verdict(40);
  now.margin = 1;
  EXPECT_THAT(changes_since(anchor(verdict(40)), now), IsEmpty());
  now.margin = 1.001;
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40)), now)), ElementsAre("margin"));
  EXPECT_THAT(kinds(changes_since(anchor(now), verdict(40))), ElementsAre("margin"));
  now.margin = std::nan("");
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40)), now)), ElementsAre("margin"));
}

TEST(DriftCase, ParametersMayNotChangeAtAll) {
  ResultRow now = verdict(40);
  now.parameters[1].params.scale[1] = std::nextafter(0.125F, 1.0F);
  const auto changes = changes_since(anchor(verdict(40)), now);
  ASSERT_THAT(kinds(changes), ElementsAre("parameters"));
  EXPECT_EQ(changes[0].detail, "\"w\": scale[1] 0.125 → 0.12500001");
  now.parameters[0].params.zero_point[0] = 4;
  now.parameters.push_back({"y", {{1}, {0}, core::DType::int8, std::nullopt}});
  EXPECT_THAT(changes_since(anchor(verdict(40)), now)[0].detail, HasSubstr(", and 2 more tensors"));
}

TEST(DriftCase, OtherBlocksAreOtherParameters) {
  ResultRow before = verdict(40), now = verdict(40);
  before.parameters[1].params.block = 16;
  now.parameters[1].params.block = 32;
  EXPECT_EQ(changes_since(anchor(before), now)[0].detail, "\"w\": blocks of 16 → 32");
}

TEST(DriftCase, ParametersAreBoundByNameAndNaNIsItself) {
  ResultRow now = verdict(40);
  std::swap(now.parameters[0], now.parameters[1]);
  EXPECT_THAT(changes_since(anchor(verdict(40)), now), IsEmpty());
  now.parameters[0].params.scale[0] = std::nan("");
  EXPECT_THAT(changes_since(anchor(now), now), IsEmpty());
}

TEST(DriftCase, LostParametersAreAChangeUnlessTheVerdictSaysWhy) {
  ResultRow now = verdict(40);
  now.parameters.clear();
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40)), now)), ElementsAre("parameters"));
  now.verdict = "refused";
  now.sqnr_db.reset();
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40)), now)), ElementsAre("verdict"));
}

TEST(DriftCase, AnotherVerdictStageOrFacetIsAChange) {
  ResultRow before = verdict(40), now = verdict(40);
  before.verdict = now.verdict = "xfail";
  before.facet = "scale";
  now.facet = "bias";
  const auto changes = changes_since(anchor(before), now);
  ASSERT_THAT(kinds(changes), ElementsAre("verdict"));
  EXPECT_EQ(changes[0].detail, "xfail (judge/scale) → xfail (judge/bias)");
}

TEST(DriftCase, AnSqnrThatComesOrGoesIsAChange) {
  ResultRow exact = verdict(40);
  exact.sqnr_db.reset();
  EXPECT_THAT(changes_since(anchor(exact), exact), IsEmpty());
  EXPECT_THAT(kinds(changes_since(anchor(exact), verdict(40))), ElementsAre("sqnr"));
  EXPECT_THAT(kinds(changes_since(anchor(verdict(40)), exact)), ElementsAre("sqnr"));
}

TEST(DriftCase, WhatOneFloat32RoundingDoesIsNoChange) {
  ResultRow exact = verdict(40);
  exact.sqnr_db.reset();
  EXPECT_THAT(changes_since(anchor(verdict(145)), verdict(152)), IsEmpty());
  EXPECT_THAT(changes_since(anchor(exact), verdict(145)), IsEmpty());
  EXPECT_THAT(changes_since(anchor(verdict(145)), exact), IsEmpty());
  EXPECT_THAT(kinds(changes_since(anchor(verdict(152)), verdict(143))), ElementsAre("sqnr"));
  EXPECT_THAT(kinds(changes_since(anchor(exact), verdict(144))), ElementsAre("sqnr"));
  EXPECT_NEAR(kFloat32Db, 20 * std::log10(std::ldexp(1.0, 24)), 1e-7);
}

TEST(Wobble, IsTheDeviationOfNoise) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(40, 0.5);
  std::vector<double> values(2001);
  for (double& value : values) value = noise(random);
  EXPECT_NEAR(measure_wobble(series(values)).sqnr_db, 0.5, 0.05);
}

TEST(Wobble, IsNotWidenedByAStep) {
  EXPECT_EQ(measure_wobble(series({40, 40, 34})).sqnr_db, 0);
  EXPECT_EQ(measure_wobble(series({40, 40, 40, 34, 34})).sqnr_db, 0);
}

TEST(Wobble, IsNotKnownFromTwoRepeats) {
  EXPECT_EQ(measure_wobble(series({40, 34})).sqnr_db, 0);
  EXPECT_EQ(measure_wobble(series({40})).repeats, 1U);
  EXPECT_EQ(measure_wobble({}).sqnr_db, 0);
}

TEST(Wobble, ParametersThatDifferEachTimeAreNoChange) {
  std::vector<ResultRow> rows = series({40, 40, 40});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].parameters[0].params.scale[0] += static_cast<double>(i);
  const Wobble wobble = measure_wobble(rows);
  EXPECT_TRUE(wobble.parameters);
  EXPECT_THAT(changes_since(anchor(rows[0], wobble), rows[1]), IsEmpty());
  EXPECT_FALSE(measure_wobble(series({40, 40, 40})).parameters);
}

/// `families` of three cases each, whose SQNRs lie `delta(family, case)` from their anchor.
template <typename Delta>
DriftReport suite(std::size_t families, Delta delta) {
  std::vector<AnchorRow> anchors;
  std::vector<ResultRow> verdicts;
  for (std::size_t f = 0; f < families; ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::string family = "f" + std::to_string(f);
      const double base = 20 + static_cast<double>(f);
      anchors.push_back(anchor(verdict(base, family + "/" + std::to_string(c), family)));
      verdicts.push_back(verdict(base + delta(f, c), family + "/" + std::to_string(c), family));
    }
  }
  return compare_to_anchors(anchors, verdicts);
}

TEST(DriftSuite, AStepOfOneDecibelShowsInEveryCaseAndInTheSuite) {
  const DriftReport report = suite(20, [](auto, auto) { return -1.0; });
  EXPECT_EQ(report.drifted.size(), 60U);
  EXPECT_TRUE(report.suites.at("c@1").drifted());
  EXPECT_EQ(report.suites.at("c@1").median_db, -1);
  EXPECT_EQ(report.suites.at("c@1").families.size(), 20U);
}

TEST(DriftSuite, ACreepIsCaughtOnceItHasAddedUp) {
  // 0.1 dB a version: against yesterday never seen, against the anchor at the second version.
  for (const double total : {0.1, 0.2, 0.3}) {
    const DriftReport report = suite(20, [&](auto, auto) { return -total; });
    EXPECT_TRUE(report.drifted.empty());
    EXPECT_EQ(report.any(), total > 0.15) << total;
  }
}

TEST(DriftSuite, BetterIsAlsoAChange) {
  EXPECT_TRUE(suite(11, [](auto, auto) { return 0.2; }).any());
}

TEST(DriftSuite, TenFamiliesAreTooFewAndItSaysSo) {
  const DriftReport report = suite(10, [](auto, auto) { return -0.5; });
  EXPECT_FALSE(report.suites.at("c@1").testable());
  EXPECT_FALSE(report.any());
}

TEST(DriftSuite, OneCaseOfSixDecibelsIsOneChange) {
  const DriftReport report = suite(20, [](auto f, auto c) { return f == 3 && c == 1 ? -6.0 : 0.0; });
  ASSERT_EQ(report.drifted.size(), 1U);
  EXPECT_EQ(report.drifted[0].now.key.case_name, "f3/1");
  EXPECT_FALSE(report.suites.at("c@1").drifted());
}

TEST(DriftSuite, NoiseBelowTheFloorIsNoDrift) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.1);  // 0.75 dB is 7.5 deviations
  int alarms = 0;
  for (int trial = 0; trial < 500; ++trial)
    alarms += suite(20, [&](auto, auto) { return noise(random); }).any() ? 1 : 0;
  EXPECT_EQ(alarms, 0);
}

TEST(DriftSuite, AFamilyIsOnePairHoweverManyCasesItHas) {
  const SuiteShift shift = suite_shift({{"a", {-1, -1, -1, 5}}, {"b", {0.5}}, {"none", {}}});
  EXPECT_EQ(shift.test.pairs, 2U);
  EXPECT_EQ(shift.families[0].median_db, -1);
  EXPECT_EQ(shift.families[0].verdicts, 4U);
}

TEST(DriftSuite, AnEditedCaseStartsANewSeries) {
  ResultRow edited = verdict(10);
  edited.case_hash = "bb";
  ResultRow fresh = verdict(10, "conv/b");
  ResultRow other = verdict(10);
  other.key.converter = "d";
  const DriftReport report = compare_to_anchors({anchor(verdict(40))}, {edited, fresh, other});
  EXPECT_EQ(report.compared, 0U);
  EXPECT_EQ(report.without, 3U);
  EXPECT_EQ(report.edited, 1U);
  EXPECT_FALSE(report.any());
}

TEST(DriftSuite, AnotherVersionIsComparedAndAssaysOwnFaultsAreNot) {
  ResultRow newer = verdict(38);
  newer.key.version = "2";
  ResultRow fault = verdict(38);
  fault.verdict = "harness-error";
  const DriftReport report = compare_to_anchors({anchor(verdict(40))}, {newer, fault});
  EXPECT_EQ(report.compared, 1U);
  EXPECT_EQ(report.drifted.size(), 1U);
}

}  // namespace
}  // namespace assay::results
