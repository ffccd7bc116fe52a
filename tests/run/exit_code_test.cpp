#include "harness/run/exit_code.hpp"

#include <gtest/gtest.h>

namespace assay::run {
namespace {

results::ResultRow row_of(judge::Verdict verdict, judge::Gate gate) {
  results::ResultRow row;
  row.verdict = judge::verdict_name(verdict);
  row.gate = judge::gate_name(gate);
  return row;
}

RunReport report_of(std::vector<results::ResultRow> rows) {
  RunReport report;
  report.planned = rows.size();
  report.rows = std::move(rows);
  return report;
}

int code(ExitCode code) { return static_cast<int>(code); }

TEST(ExitCode, FollowsTheGateAndNotTheVerdict) {
  using judge::Gate;
  using judge::Verdict;
  EXPECT_EQ(exit_code(report_of({row_of(Verdict::pass, Gate::green)})), code(ExitCode::ok));
  EXPECT_EQ(exit_code(report_of({row_of(Verdict::unjudged, Gate::amber)})), code(ExitCode::ok));
  EXPECT_EQ(exit_code(report_of({row_of(Verdict::unjudged, Gate::red)})), code(ExitCode::red));
  EXPECT_EQ(exit_code(report_of({row_of(Verdict::fail, Gate::red)})), code(ExitCode::red));
}

TEST(ExitCode, IsTheFirstThatFits) {
  using judge::Gate;
  using judge::Verdict;
  RunReport report = report_of({row_of(Verdict::pass, Gate::green)});
  report.unused_expectations = {"an entry"};
  EXPECT_EQ(exit_code(report), code(ExitCode::unused_expectation));
  report.rows.push_back(row_of(Verdict::fail, Gate::red));
  EXPECT_EQ(exit_code(report), code(ExitCode::incomplete));
  report.planned = 2;
  EXPECT_EQ(exit_code(report), code(ExitCode::red));
  report.rows.back() = row_of(Verdict::invalid_case, Gate::red);
  EXPECT_EQ(exit_code(report), code(ExitCode::usage));
  report.rows.front() = row_of(Verdict::harness_error, Gate::red);
  EXPECT_EQ(exit_code(report), code(ExitCode::own_fault));
}

TEST(ExitCode, IsRedWhereAProgramEndedBetweenTwoConversions) {
  results::ResultRow row = row_of(judge::Verdict::pass, judge::Gate::green);
  row.attempts = {{"convert", 1, "crash", "ended with signal 9 (SIGKILL) before it was asked to convert", 0},
                  {"convert", 2, "ok", "", 0},
                  {"execute", 1, "ok", "", 0}};
  ASSERT_NE(end_after_another(row), nullptr);
  EXPECT_EQ(exit_code(report_of({row})), code(ExitCode::red));
  row.attempts[0].outcome = "timeout";
  EXPECT_EQ(end_after_another(row), nullptr);
  row.attempts = {{"convert", 1, "crash", "", 0}, {"convert", 2, "crash", "", 0}};
  EXPECT_EQ(end_after_another(row), nullptr) << "it crashes in a fresh process, too";
}

TEST(ExitCode, SkipsOneCaseThatIsUnsupportedUnderEveryOptionSet) {
  using judge::Gate;
  using judge::Verdict;
  results::ResultRow unsupported = row_of(Verdict::unsupported, Gate::neutral), other = unsupported;
  other.key.case_name = "another";
  EXPECT_EQ(exit_code(report_of({unsupported})), code(ExitCode::skip));
  EXPECT_EQ(exit_code(report_of({unsupported, unsupported, unsupported})), code(ExitCode::skip));
  EXPECT_EQ(exit_code(report_of({unsupported, other})), code(ExitCode::ok));
  EXPECT_EQ(exit_code(report_of({unsupported, row_of(Verdict::pass, Gate::green)})), code(ExitCode::ok));
  EXPECT_EQ(exit_code(report_of({})), code(ExitCode::incomplete));
}

TEST(ExitCode, IsOurOwnFaultWhereAGateIsNoneOfOurs) {
  results::ResultRow row = row_of(judge::Verdict::pass, judge::Gate::green);
  row.gate = "rde";
  EXPECT_FALSE(gate_of(row));
  EXPECT_EQ(exit_code(report_of({row})), code(ExitCode::own_fault));
}

}  // namespace
}  // namespace assay::run
