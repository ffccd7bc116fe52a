#include "harness/score/score.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converters/embedded/switchable.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/score/false_alarms.hpp"

namespace assay::score {
namespace {

using converters::ArtifactKind;

/// One small Conv, under the default options, that claims to kill `kills`.
run::RunItem small_conv(const std::string& kills) {
  const auto cases =
      corpus::parse_family(R"json({ "family": "small", "title": "a Conv", "opset": 13, "calibration": { "batches": 3 },
      "graph": ["agraph (float[2,3,6,5] x) => (float[2,7,6,5] y) {", "  y = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, w, b)", "}"],
      "initializers": { "w": { "shape": [7, 3, 3, 3], "spread": { "axis": 0, "ratio": 20 } },
                        "b": { "shape": [7], "std": 0.5 } },
      "inputs": { "x": { "data": ["typical", "saturate"], "range": [-1, 3] } },
      "kills": [")json" + kills +
                               R"json("] })json",
                           "small.json");
  if (!cases) {
    ADD_FAILURE() << cases.error().message;
    return {};
  }
  return {cases->front(), {{"default", "{}"}}, std::nullopt};
}

ScoreReport scored(const std::string& claim, std::vector<std::string> faults) {
  const auto report = score(
      {embedded::switchable(), {small_conv(claim)}, std::move(faults), {ArtifactKind::qdq, ArtifactKind::opaque}, 1});
  if (!report) {
    ADD_FAILURE() << report.error().message;
    return {};
  }
  return *report;
}

TEST(Score, CountsAKilledFaultAtEveryKindWhereItShows) {
  const ScoreReport report = scored("scale_doubled", {"scale_doubled"});
  EXPECT_EQ(report.kinds.at(ArtifactKind::qdq).at("scale_doubled").kills, std::set<std::string>{"small"});
  EXPECT_TRUE(report.kinds.at(ArtifactKind::opaque).at("scale_doubled").observable());
  EXPECT_TRUE(report.broken_claims.empty());
  EXPECT_TRUE(report.false_alarms.empty());
  ASSERT_TRUE(report.effects.at("scale_doubled").median());
  EXPECT_GT(*report.effects.at("scale_doubled").median(), 3);
}

TEST(Score, LeavesOutWhatAFaultDoesNotTouch) {
  const ScoreReport report = scored("deconv_axis_zero", {"deconv_axis_zero"});  // there is no ConvTranspose
  EXPECT_FALSE(report.kinds.at(ArtifactKind::qdq).contains("deconv_axis_zero"));
  EXPECT_EQ(report.broken_claims, (std::vector<std::pair<std::string, std::string>>{{"small", "deconv_axis_zero"}}));
  EXPECT_EQ(report.idle_cases, std::vector<std::string>{"small"});
}

TEST(Score, GivesTheSameOnOneThreadAndOnTwo) {
  const run::RunItem item = small_conv("scale_doubled");
  const auto one = score({embedded::switchable(), {item, item}, {}, {ArtifactKind::qdq}, 1});
  const auto two = score({embedded::switchable(), {item, item}, {}, {ArtifactKind::qdq}, 2});
  ASSERT_TRUE(one.ok() && two.ok());
  for (const auto& [fault, entry] : one->kinds.at(ArtifactKind::qdq)) {
    EXPECT_EQ(entry.kills, two->kinds.at(ArtifactKind::qdq).at(fault).kills) << fault;
    EXPECT_EQ(entry.concerned, two->kinds.at(ArtifactKind::qdq).at(fault).concerned) << fault;
  }
}

TEST(Score, RefusesAnUnknownFaultWithTheNearest) {
  const auto report =
      score({embedded::switchable(), {small_conv("scale_doubled")}, {"scale_dubbled"}, {ArtifactKind::qdq}, 1});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("scale_doubled"), std::string::npos);
}

TEST(Score, ShowsWhoAsksEveryJudgementOfEveryOptionSetInFull) {
  run::RunItem item = small_conv("scale_doubled");
  item.option_sets.push_back({"uint8", R"({"activation": "uint8"})"});
  std::size_t plain = 0, faulted = 0, with_bounds = 0;
  ScoreConfig config{embedded::switchable(), {item}, {"scale_doubled"}, {ArtifactKind::qdq, ArtifactKind::opaque}, 1};
  config.on_judged = [&](const Judged& judged) {
    ++(judged.subject.empty() ? plain : faulted);
    EXPECT_EQ(judged.judgement.gate == judge::Gate::red, !judged.subject.empty()) << core::word_of(judged.kind);
    // L0 has found it already; at depth gate nobody would go on to L2.
    const auto found_by = [&](const char* layer) {
      return std::ranges::any_of(judged.judgement.findings, [&](const auto& each) { return each.layer == layer; });
    };
    with_bounds += found_by("L0") && found_by("L2") ? 1U : 0U;
  };
  ASSERT_TRUE(score(config).ok());
  EXPECT_EQ(plain, 4U);
  EXPECT_EQ(faulted, 4U);
  EXPECT_EQ(with_bounds, 2U);  // an opaque artifact has no parameters to audit
}

TEST(FaultEffect, TakesTheMiddleOfAnEvenNumberOfLosses) {
  const FaultEffect effect{{4, 1, 3, 10}, false, false};
  EXPECT_DOUBLE_EQ(*effect.median(), 3.5);
  EXPECT_DOUBLE_EQ(*effect.largest(), 10);
  EXPECT_FALSE(FaultEffect{}.median());
}

TEST(ClopperPearson, IsTheRateThatHidesOnceInTwenty) {
  EXPECT_NEAR(clopper_pearson_upper(0, 100), 1 - std::pow(0.05, 0.01), 1e-9);  // 0.0295: nearly 3/n
  EXPECT_NEAR(clopper_pearson_upper(1, 2), std::sqrt(0.95), 1e-9);             // 1 − p² = 0.05
  EXPECT_EQ(clopper_pearson_upper(0, 0), 1);
  EXPECT_EQ(clopper_pearson_upper(5, 5), 1);
}

TEST(FalseAlarms, AreNoneOverCorrectVariantsOfOneConv) {
  const auto report = find_false_alarms({embedded::switchable(),
                                         {small_conv("scale_doubled")},
                                         {"round_half_away", "multiplier_31", "uint8"},
                                         {ArtifactKind::qdq, ArtifactKind::scales, ArtifactKind::opaque},
                                         1});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->alarms.empty());
  EXPECT_GT(report->judgements(), 0U);
}

/// Asks for a refusal that no converter gives: red under every variant.
run::RunItem never_refused() {
  run::RunItem item = small_conv("scale_doubled");
  item.test_case.expect.status = "refused";
  return item;
}

corpus::ExpectedFailure known_defect(const std::string& converter) {
  return {.case_pattern = "small",
          .options = {},
          .converter = converter,
          .versions = {},
          .stage = {},
          .facet = "status",
          .reason = "succeeded",
          .url = "https://onnx.ai",
          .until = {},
          .machine = {},
          .margin = {},
          .family = {}};
}

FalseAlarmReport alarms_with(const run::RunItem& item, std::vector<corpus::ExpectedFailure> expected) {
  FalseAlarmConfig config{embedded::switchable(), {item}, {"uint8"}, {ArtifactKind::qdq}, 1};
  config.expected_failures = std::move(expected);
  const auto report = find_false_alarms(config);
  if (!report) {
    ADD_FAILURE() << report.error().message;
    return {};
  }
  return *report;
}

TEST(FalseAlarms, AreNotWhatASuiteSaysIsADefect) {
  EXPECT_EQ(alarms_with(never_refused(), {}).alarms.size(), 1U);
  const FalseAlarmReport report = alarms_with(never_refused(), {known_defect("embedded+uint8")});
  EXPECT_TRUE(report.alarms.empty());
  EXPECT_EQ(report.variants[0].known, 1U);
  EXPECT_EQ(report.judgements(), 0U);
  EXPECT_TRUE(report.unused_expectations.empty());
}

TEST(FalseAlarms, AreDefectsThatFailElsewhereOrNoMore) {
  corpus::ExpectedFailure elsewhere = known_defect("embedded+uint8");
  elsewhere.facet = "scale";
  EXPECT_EQ(alarms_with(never_refused(), {elsewhere}).alarms.size(), 1U);
  EXPECT_EQ(alarms_with(small_conv("scale_doubled"), {known_defect("embedded+uint8")}).alarms.size(), 1U);
}

TEST(FalseAlarms, ReportADefectThatNothingMetUnlessItsVariantDidNotRun) {
  corpus::ExpectedFailure other_case = known_defect("embedded+uint8");
  other_case.case_pattern = "large";
  EXPECT_EQ(alarms_with(small_conv("scale_doubled"), {other_case}).unused_expectations.size(), 1U);
  other_case.converter = "embedded+uint8:opaque";
  EXPECT_TRUE(alarms_with(small_conv("scale_doubled"), {other_case}).unused_expectations.empty());
}

}  // namespace
}  // namespace assay::score
