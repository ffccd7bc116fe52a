#include "harness/report/causes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/report/figures.hpp"
#include "tests/report/made_row.hpp"

namespace assay::report {
namespace {

using results::ResultRow;

TEST(Causes, LeaveNamesAndNumbersOpen) {
  ResultRow other_op = made_row("c", "fail", "tensor \"w\": 3 scales");
  other_op.op = "Gemm";
  const std::vector<ResultRow> rows{made_row("a", "fail", "tensor \"w\": 17 scales"), made_row("b", "pass"), other_op,
                                    made_row("b", "fail", "tensor \"other\": 4 scales"),
                                    made_row("b", "unjudged", "nothing reaches it")};
  const std::vector<Cause> causes = causes_of(rows, judge::Gate::red);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].rows.size(), 2U) << "the largest first";
  EXPECT_EQ(causes[0].what, "artifact/scale");
  EXPECT_EQ(causes[1].what, "artifact/scale at Gemm");
}

TEST(Causes, OfOneTitleSayWhatTellsThemApart) {
  const std::vector<ResultRow> rows{
      made_row("a", "fail", "node \"n\" (Conv), weight \"w\": 8 of 8 scales differ\n  channel 0"),
      made_row("b", "fail", "tensor \"x\": expected scale 0.123456, actual 0.2")};
  const std::vector<Cause> causes = causes_of(rows, judge::Gate::red);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].what, "artifact/scale: 8 of 8 scales differ");
  EXPECT_EQ(causes[1].what, "artifact/scale: expected scale 0.1235, actual 0.2");
}

TEST(Causes, ShowTheSmallestCase) {
  std::vector<ResultRow> rows{made_row("a/aa", "fail", "x"), made_row("a/b", "fail", "x"),
                              made_row("a/cc", "fail", "x")};
  rows[0].coverage = {{"Conv", 2, 2}};
  rows[1].coverage = {{"Conv", 3, 3}};
  rows[2].coverage = {{"Conv", 1, 1}, {"Relu", 1, 0}};
  EXPECT_EQ(causes_of(rows, judge::Gate::red).front().smallest, &rows[0]) << "two nodes, and first by name";
}

TEST(Figures, HaveFourDigitsAtMost) {
  EXPECT_EQ(figure(0.08099853), "0.081");
  EXPECT_EQ(figure(1234567), "1.235e+06");
  EXPECT_EQ(figure(1.75772173409820929855e44), "1.758e+44");
  EXPECT_EQ(figure(2), "2");
  EXPECT_EQ(figure(HUGE_VAL), "∞");
  EXPECT_EQ(figure(-HUGE_VAL), "-∞");
  EXPECT_EQ(figure(std::nan("")), "not a number");
}

TEST(Figures, OfDecibelsHaveTheirDecimalsWhileFourDigitsDo) {
  EXPECT_EQ(decibels(38.125), "38.1 dB");
  EXPECT_EQ(decibels(-0.04), "0.0 dB");
  EXPECT_EQ(decibels(999.96), "1000 dB");
  EXPECT_EQ(decibels(HUGE_VAL), "∞ dB");
  EXPECT_EQ(fixed(138.126, 2), "138.1");
  EXPECT_EQ(fixed(38.126, 2), "38.13");
}

TEST(Figures, OfAMessageAreShortButTellApart) {
  EXPECT_EQ(with_short_figures("range over [-12.090613120913275, 8.564012852755994]"), "range over [-12.09, 8.564]");
  EXPECT_EQ(with_short_figures("expected 0.0809985, actual 0.0809991"), "expected 0.0809985, actual 0.0809991")
      << "four digits would make them equal";
  EXPECT_EQ(with_short_figures("\"it's \\\"0.123456\\\" y\" is 0.123456"), "\"it's \\\"0.123456\\\" y\" is 0.1235")
      << "a name stays what it is";
  EXPECT_EQ(with_short_figures("margin 175772173409820929855247480912050885530484736.00"), "margin 1.758e+44");
}

TEST(Figures, LeaveNamesVersionsAndCountsAlone) {
  for (const char* text : {"onnxruntime 1.31.1 of 4004 elements", "tensor \"conv_1.234567\"", "y[0,3,1,2] 123456789",
                           "2026-01-31T12:00:00.123456Z", "sha256 0123456789ab", "at v1.2345678"}) {
    EXPECT_EQ(with_short_figures(text), text);
  }
}

}  // namespace
}  // namespace assay::report
