#include "results/cause.hpp"

#include <gtest/gtest.h>

namespace assay::results {
namespace {

std::string cause(const std::string& reason, const std::string& verdict = "fail") {
  ResultRow row;
  row.verdict = verdict;
  row.stage = "artifact";
  row.facet = "scale";
  row.op = "Conv";
  row.reason = reason;
  return cause_of(row);
}

TEST(Cause, LeavesNamesNumbersAndTheVerdictOpen) {
  EXPECT_EQ(cause("tensor \"w1\": 17 scales"), "artifact|scale|Conv|tensor \"…\": # scales");
  EXPECT_EQ(cause("tensor \"w1\": 17 scales"), cause("tensor \"other\": 4 scales", "xfail"));
  EXPECT_NE(cause("tensor \"w1\": 17 scales"), cause("tensor \"w1\": 17 axes"));
}

TEST(Cause, LeavesNamesOpenThatHoldQuotes) {
  EXPECT_EQ(cause(R"(node "it's \"so\" a" (Conv), weight "it's \"so\" w": 2 scales)"),
            cause(R"(node "a" (Conv), weight "w": 3 scales)"));
  EXPECT_EQ(cause(R"(file "C:\": 2 scales)"), cause(R"(file "D": 2 scales)")) << "a backslash may end a name";
}

TEST(Cause, OfSeveralLinesHasTheFirstAndNoneOfItsDetails) {
  EXPECT_EQ(cause("scale is off\n  these are those of \"x\""), cause("scale is off\n  all are the first"));
  EXPECT_EQ(cause("exit status 1\nTraceback\n  File \"x.py\"\nValueError: bad\n"),
            "artifact|scale|Conv|exit status # … ValueError: bad");
}

TEST(Cause, IsEmptyWhereNothingIsWrong) { EXPECT_EQ(cause_of(ResultRow{}), ""); }

}  // namespace
}  // namespace assay::results
