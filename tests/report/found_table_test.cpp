#include "harness/report/found_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/files.hpp"
#include "harness/report/converter_page.hpp"
#include "tests/report/made_case.hpp"

namespace assay::report {
namespace {

using testing::HasSubstr;

corpus::ExpectedFailure red(const std::string& pattern, const std::string& converter, const std::string& versions) {
  corpus::ExpectedFailure entry;
  entry.case_pattern = pattern;
  entry.converter = converter;
  entry.versions = versions;
  return entry;
}

TEST(FoundTable, NamesWhoIsRedAndInWhichVersions) {
  const corpus::Origin lost{"https://u", "Tool 1.2", "the bias | is lost", std::vector<std::string>{}};
  const std::vector<corpus::Case> cases{
      made_case("lost/k=1", lost), made_case("lost/k=2", lost),
      made_case("mended", {"https://u", "Tool 1.0", "it dies", std::vector<std::string>{"https://h/issues/7"}})};
  corpus::Suite one, two;
  one.converters = {"tool", "tool:weights", "tool:more_weights"};
  one.expected_failures = {red("lost/*", "tool*", ""), red("lost/k=2", "tool", ">=1.2"),
                           red("mended", "tool:*weights", "<1.1")};
  two.expected_failures = {red("lost/k=1", "other", ">=2 <3"), red("mended", "embedded+tool", "")};
  const std::string table = found_table(cases, std::vector{one, two});
  EXPECT_THAT(table, HasSubstr("| `lost` | Tool 1.2 | the bias \\| is lost | none found | other `>=2 <3`, tool |\n"));
  EXPECT_THAT(table, HasSubstr("| `mended` | Tool 1.0 | it dies | [7](https://h/issues/7) | "
                               "tool:more_weights `<1.1`, tool:weights `<1.1` |\n"));
}

// Made by `assay report --found --markdown docs/converters/README.md`.
TEST(FoundTable, OfTheConvertersPageIsUpToDateAndNamesSomebodyForEachCase) {
  const auto corpus = corpus::load_corpus();
  ASSERT_TRUE(corpus.ok()) << corpus.error().message;
  std::vector<corpus::Case> cases;
  for (const corpus::Case& each : *corpus) {
    if (!corpus::matches(each, "cases/found/*")) continue;
    cases.push_back(each);
    for (const corpus::Origin& origin : each.origins) {
      EXPECT_TRUE(origin.upstream) << each.name << ": was " << origin.reported_against << "'s defect reported?";
    }
  }
  std::vector<corpus::Suite> suites;
  for (const std::string& name : corpus::suite_names()) {
    auto suite = corpus::load_suite(name);
    ASSERT_TRUE(suite.ok()) << suite.error().message;
    suites.push_back(std::move(*suite));
  }
  const std::string table = found_table(cases, suites);
  EXPECT_THAT(table, testing::Not(HasSubstr("|  |\n"))) << "a defect that nobody has";
  const auto page = core::read_file(corpus::home() / "docs/converters/README.md");
  ASSERT_TRUE(page.ok());
  const auto made_anew = with_generated(*page, table);
  ASSERT_TRUE(made_anew.ok());
  EXPECT_EQ(*page, *made_anew) << "assay report --found makes it anew";
}

}  // namespace
}  // namespace assay::report
