#include "harness/report/converter_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

results::ResultRow verdict(const std::string& name, const std::string& what, const std::string& reason) {
  results::ResultRow row;
  row.key.case_name = name;
  row.verdict = what;
  row.gate = what == "pass" || what == "xfail" ? "green" : what == "unsupported" ? "neutral" : "red";
  row.stage = "convert";
  row.facet = "status";
  row.op = "Gemm";
  row.reason = reason;
  return row;
}

results::Store::NewestVerdicts three_versions() {
  const std::vector<std::pair<std::string, std::vector<results::ResultRow>>> by_version{
      {"1.2", {verdict("a/x=1", "pass", ""), verdict("b", "fail", "shape [1,2] | 3 of node\nmore")}},
      {"1.10", {verdict("a/x=1", "fail", "shape [4] | 5 of node"), verdict("b", "xfail", "shape [7,7,7] | 8 of node")}},
      {"1.11", {verdict("a/x=1", "unsupported", "no Gemm"), verdict("b", "crash", "signal 11")}}};
  results::Store::NewestVerdicts verdicts;
  verdicts.cases = {"a/x=1", "b"};
  for (const auto& [version, rows] : by_version) {
    auto& all = verdicts.versions.emplace_back(results::Store::NewestVerdicts::Version{"c", version, {}}).alike;
    for (const results::ResultRow& row : rows) {
      all.push_back({verdicts.kinds.size(), {row.key.case_name == "b" ? 1U : 0U}});
      verdicts.kinds.push_back(row);
    }
  }
  return verdicts;
}

TEST(ConverterPage, CountsVerdictsByVersion) {
  const std::string page = converter_page(three_versions());
  EXPECT_THAT(page, HasSubstr("| version | verdicts | pass | crash | fail | unsupported | xfail |\n"
                              "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
                              "| 1.2 | 2 | 1 | 0 | 1 | 0 | 0 |\n"
                              "| 1.10 | 2 | 0 | 0 | 1 | 0 | 1 |\n"
                              "| 1.11 | 2 | 0 | 1 | 0 | 1 | 0 |\n"));
}

TEST(ConverterPage, GroupsWhatFailsAlike) {
  const std::string page = converter_page(three_versions());
  EXPECT_THAT(
      page, HasSubstr("| fail, xfail at convert, status, Gemm: shape [#] \\| # of node | 2 | 1.2 to 1.10 | 2 | `b` |"));
  EXPECT_THAT(page, HasSubstr("| crash at convert, status, Gemm: signal # | 1 | 1.11 | 1 | `b` |"));
  EXPECT_THAT(page, Not(HasSubstr("no Gemm")));
  EXPECT_LT(page.find("shape [#]"), page.find("signal #")) << "the largest first";
}

TEST(ConverterPage, IsReplacedWithinWhatWasWrittenByHand) {
  const auto first = with_generated("# Title\n\nBy hand.\n", "one\n");
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, HasSubstr("By hand.\n\n<!-- generated"));
  const auto second = with_generated(*first + "\nMore by hand.\n", "two\n");
  ASSERT_TRUE(second);
  EXPECT_THAT(*second, HasSubstr("# Title\n\nBy hand.\n"));
  EXPECT_THAT(*second, HasSubstr("two\n"));
  EXPECT_THAT(*second, Not(HasSubstr("one\n")));
  EXPECT_THAT(*second, HasSubstr("\nMore by hand.\n"));
}

TEST(ConverterPage, LeavesAPageWithHalfAMarkAlone) {
  const auto whole = with_generated("", "one\n");
  ASSERT_TRUE(whole);
  EXPECT_FALSE(with_generated(whole->substr(0, whole->find("one")), "two\n"));
}

}  // namespace
}  // namespace assay::report
