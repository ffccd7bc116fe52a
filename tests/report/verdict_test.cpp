#include "harness/report/verdict.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/report/follows.hpp"
#include "harness/report/nodes.hpp"
#include "tests/report/made_row.hpp"

namespace assay::report {
namespace {

using results::FindingRow;
using testing::HasSubstr;
using testing::Not;

/// x → a → b → y, and x → c → z beside it.
model::Graph two_paths() {
  model::Graph graph;
  for (const auto& [name, input, output] :
       {std::tuple("a", "x", "s"), std::tuple("b", "s", "y"), std::tuple("c", "x", "z")}) {
    model::Node& node = graph.nodes.emplace_back();
    node.name = name;
    node.op_type = "Conv";
    node.inputs = {input};
    node.outputs = {output};
  }
  return graph;
}

FindingRow finding(const std::string& facet, const std::string& node, const std::string& tensor,
                   const std::string& message = "", double margin = 0, bool amber = false) {
  return {"artifact", facet, node, "Conv", tensor, "", "L0", message, margin, amber};
}

TEST(MayFollow, WhatIsComputedBehindTheSameNode) {
  const model::Graph graph = two_paths();
  const FindingRow scale = finding("scale", "a", "s");
  EXPECT_TRUE(may_follow(graph, scale, finding("numerics", "b", "y")));
  EXPECT_TRUE(may_follow(graph, scale, finding("bias", "a", "")));
  EXPECT_FALSE(may_follow(graph, scale, finding("numerics", "c", "z"))) << "another path";
  EXPECT_FALSE(may_follow(graph, scale, finding("scale", "b", "y"))) << "a scale of its own";
  EXPECT_FALSE(may_follow(graph, finding("scale", "b", "y"), finding("numerics", "a", "s"))) << "before it";
  EXPECT_FALSE(may_follow(graph, finding("numerics", "a", "s"), finding("bias", "a", "")));
  EXPECT_TRUE(may_follow(graph, finding("scale", "", "x"), finding("numerics", "c", "z"))) << "a graph input's";
}

TEST(FailureText, SaysWhatMayFollowAndHowManyTimesAScaleIs) {
  results::ResultRow row = made_row("mine", "fail", "tensor \"s\": expected scale 0.02, actual 0.03\n  why");
  row.findings = {finding("scale", "a", "s", row.reason, 368), finding("numerics", "b", "y", "off", 1.5),
                  finding("numerics", "c", "z", "off too", 2)};
  const model::Graph graph = two_paths();
  const std::string text = failure_text(row, "./assay run mine", &graph);
  EXPECT_THAT(text, HasSubstr("expected scale 0.02, actual 0.03 (1.5 times)\n"));
  EXPECT_THAT(text, HasSubstr("also numerics (L0), which may follow from it:\n    off\n"));
  EXPECT_THAT(text, HasSubstr("also numerics (L0):\n    off too\n"));
  EXPECT_THAT(failure_text(row, "./assay run mine"), Not(HasSubstr("follow")));
}

TEST(FailureText, PutsWhatMayFollowBehindWhatToDoNext) {
  results::ResultRow row = made_row("mine", "fail", "the headline");
  row.findings = {finding("scale", "a", "s", row.reason), finding("numerics", "b", "y", "off"),
                  finding("numerics", "c", "z", "off too")};
  const model::Graph graph = two_paths();
  EXPECT_EQ(failure_text(row, "./assay run mine", &graph, "  next: reduce\n"),
            "mine: fail (artifact/scale)\n    the headline\n  also numerics (L0):\n    off too\n  next: reduce\n"
            "  also numerics (L0), which may follow from it:\n    off\n  reproduce: ./assay run mine\n");
}

TEST(FailureText, IsBriefWhereItIsOneOfMany) {
  results::ResultRow row = made_row("mine", "fail", "the headline\n  1\n  2\n  3\n  4");
  row.findings = {finding("scale", "a", "s", row.reason), finding("numerics", "b", "y", "off")};
  EXPECT_EQ(brief_failure_text(row, "./assay run mine"),
            "mine: fail (artifact/scale)\n    the headline\n      1\n      2\n      … and 2 more lines\n"
            "  … and 1 more finding\n  reproduce: ./assay run mine\n");
}

TEST(LossesText, LeaveOutWhatIsNothingAndSayWhereTheSqnrRisesAgain) {
  results::ResultRow row = made_row("mine", "fail", "off");
  row.sqnr_db = 22;
  row.metrics = {{"a", "", "sqnr_loss_db", 29.2},
                 {"a", "", "sqnr_db", 4.1},
                 {"b", "", "sqnr_loss_db", 0.04},
                 {"b", "", "sqnr_db", 4.1}};
  const std::string text = losses_text(row);
  EXPECT_THAT(text, HasSubstr("29.2 dB lost at \"a\", 4.1 dB left\n"));
  EXPECT_THAT(text, HasSubstr("22.0 dB at the output: where a node joins"));
  EXPECT_THAT(text, Not(HasSubstr("0.0 dB")));
  row.sqnr_db = 4;
  EXPECT_THAT(losses_text(row), Not(HasSubstr("at the output")));
}

TEST(NodeTable, HasNoColumnOfPrecisionWhereNobodySaysIt) {
  std::vector<localize::NodeRow> rows(1);
  rows[0].node = "two\nlines";
  rows[0].op = "Conv";
  rows[0].sqnr_db = 30;
  EXPECT_THAT(node_table_text(rows), Not(HasSubstr(" in ")));
  EXPECT_THAT(node_table_text(rows), HasSubstr("two\\nlines"));
  rows[0].precision = "int8";
  EXPECT_THAT(node_table_text(rows), HasSubstr(" in "));
}

TEST(FailureText, SaysHowManyFindingsItLeavesOut) {
  results::ResultRow row = made_row("mine", "fail", "the headline");
  row.findings = {finding("scale", "a", "s", row.reason)};
  for (int i = 0; i < 11; ++i) row.findings.push_back(finding("numerics", "b", "y", "off " + std::to_string(i)));
  EXPECT_THAT(failure_text(row, "./assay run mine"), HasSubstr("  … and 1 more finding\n"));
  row.metrics = {{"", "", "findings_left_out", 147}};
  EXPECT_THAT(failure_text(row, "./assay run mine"), HasSubstr("  … and 148 more findings\n"));
}

TEST(VerdictLine, SaysWhereItWentWrong) {
  results::ResultRow row = made_row("mine", "fail", "off");
  EXPECT_THAT(verdict_line(row), HasSubstr("  artifact/scale"));
  row.verdict = "pass";
  EXPECT_THAT(verdict_line(row), Not(HasSubstr("artifact")));
}

TEST(VerdictLine, ShowsTheMarginThatIsRecorded) {
  results::ResultRow row = made_row("mine", "fail");
  EXPECT_THAT(verdict_line(row), Not(HasSubstr("margin")));
  row.margin = 0.34774;
  row.findings = {finding("scale", "a", "s", "", 368)};
  EXPECT_THAT(verdict_line(row), HasSubstr("margin 0.3477"));
  EXPECT_EQ(result_json(row)["margin"], 0.34774);
  row.margin = 1.157;
  row.metrics = {{"conv_10", "typical", "local_margin", 58.5}, {"conv_10", "ties", "local_margin", 68.91}};
  EXPECT_THAT(verdict_line(row), HasSubstr("margin 1.157, 68.91 at \"conv_10\""));
  row.margin = 68.91;
  EXPECT_THAT(verdict_line(row), Not(HasSubstr("conv_10"))) << "said once";
  EXPECT_THAT(verdict_line(row, "the case sets per_axis true"), HasSubstr("  default (the case sets per_axis true)"));
}

TEST(HeadlineText, SaysOnWhichDataTheFigureOfTheLineIs) {
  results::ResultRow row = made_row("mine", "pass", "");
  row.sqnr_db = 39.6;
  row.metrics = {{"y", "typical", "sqnr_db", 39.6},
                 {"y", "wide", "sqnr_db", 2.5},
                 {"y", "", "whole_sqnr_db", 4.6},
                 {"y", "wide", "worst_sqnr_db", 2.5}};
  EXPECT_EQ(headline_text(row),
            "    39.6 dB is on \"typical\"; 4.6 dB over all data sets; worst: 2.5 dB on \"wide\" at output \"y\"\n");
  row.sqnr_db = 4.6;
  EXPECT_EQ(headline_text(row), "    4.6 dB over all data sets; worst: 2.5 dB on \"wide\" at output \"y\"\n");
}

}  // namespace
}  // namespace assay::report
