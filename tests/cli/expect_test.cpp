// Expected failures from a run into a suite: drafted, checked, used.
#include <gmock/gmock.h>

#include "results/store.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Expect = HomeTest;

constexpr const char* kSuite = R"json({"title": "t", "select": ["*"], "converters": ["embedded"],
    "option_sets": [{"label": "default", "options": {}}, {"label": "uint8", "options": {"activation": "uint8"}}],
    "expected_failures": [)json";

TEST_F(Expect, WhatIsDraftedFromARunCoversIt) {
  write("suites/default.json", std::string(kSuite) + "]}");
  ASSERT_EQ(run({"run", "--fault", "bias_dropped", "--db", "h.db"}).code, 1);
  const Call draft = run({"expect", "--from", "newest", "--db", "h.db"});
  ASSERT_EQ(draft.code, 0) << draft.err;
  // One family, under both option sets: one entry.
  const nlohmann::json entry = nlohmann::json::parse(draft.out);
  EXPECT_EQ(entry["case"], "mini/*");
  EXPECT_FALSE(entry.contains("options"));
  EXPECT_EQ(entry["converter"], "embedded");
  EXPECT_EQ(entry["url"], "");
  write("suites/default.json", std::string(kSuite) + draft.out + "]}");
  const Call covered = run({"run", "--fault", "bias_dropped", "--json"});
  EXPECT_EQ(covered.code, 0) << covered.out;
  EXPECT_EQ(covered.json()["verdicts"]["xfail"], 4);
  EXPECT_EQ(run({"run"}).code, 1) << "without the fault they pass, which is red";
  const Call lint = run({"lint"});
  EXPECT_EQ(lint.code, 2);
  EXPECT_THAT(lint.out, HasSubstr("default: expected_failures[0] (\"mini/*\"): url:"));
}

TEST_F(Expect, AnExpectedFailureKeepsItsEntryAndWhatItsPageDraws) {
  write("suites/default.json", std::string(kSuite) + R"json({"case": "mini/*", "converter": "embedded",
      "stage": "artifact", "facet": "bias", "reason": ".", "url": "https://example.org/1"}]})json");
  const Call call = run({"run", "--options", "default", "--fault", "bias_dropped", "--db", "h.db", "--json"});
  ASSERT_EQ(call.json()["verdicts"]["xfail"], 2) << call.out;
  core::Result<results::Store> store = results::Store::open(path("h.db"));
  ASSERT_TRUE(store.ok());
  const auto rows = store->results(call.json()["run"]);
  ASSERT_TRUE(rows.ok());
  for (const results::ResultRow& row : *rows) {
    ASSERT_TRUE(row.expectation.has_value()) << row.key.case_name;
    EXPECT_EQ(row.expectation->case_pattern, "mini/*");
    EXPECT_EQ(row.expectation->url, "https://example.org/1");
    const nlohmann::json detail = nlohmann::json::parse(row.detail, nullptr, false);
    ASSERT_TRUE(detail.is_object()) << row.key.case_name << " kept nothing";
    EXPECT_FALSE(detail["original"]["nodes"].empty()) << detail;
  }
}

TEST_F(Expect, APartOfASuiteIsNotAskedForTheRest) {
  write("suites/default.json", std::string(kSuite) + R"json({"case": "mini/*", "options": "uint8",
      "converter": "embedded", "reason": ".", "url": "https://example.org/1"}]})json");
  EXPECT_EQ(run({"run", "--options", "default"}).code, 0);
  EXPECT_EQ(run({"run"}).code, 1);
}

TEST_F(Expect, LintNamesWhatNoVerdictCanMeet) {
  write("suites/default.json", std::string(kSuite) + R"json(
      {"case": "mini/*", "converter": "embedded", "reason": ".", "url": "https://example.org/1"},
      {"case": "mini/stride=1", "converter": "embedded", "reason": ".", "url": "https://example.org/1"},
      {"case": "maxi/*", "converter": "embeded", "options": "int4", "stage": "judging", "facet": "bais",
       "until": "2020-01-01", "reason": ".", "url": "https://example.org/1"}]})json");
  const Call lint = run({"lint", "default"});
  EXPECT_EQ(lint.code, 2);
  for (const char* words :
       {"[1] (\"mini/stride=1\"): earlier entries speak of all", "[2] (\"maxi/*\"): stage: there is none",
        "facet: there is none", "until: 2020-01-01 is over", "converter: none is called \"embeded\"",
        "options: the suite has no option set \"int4\"", "case: matches none"}) {
    EXPECT_THAT(lint.out, HasSubstr(words));
  }
  EXPECT_THAT(lint.out, Not(HasSubstr("[0]")));
  for (const char* broken : {R"("versions": "=>1")", R"("reason": "(")", R"("until": "tomorrow")"}) {
    write("suites/default.json", std::string(kSuite) +
                                     R"json({"case": "mini/*", "converter": "embedded", "url": "https://a.b",
        "reason": ".", )json" + broken +
                                     "}]}");
    EXPECT_EQ(run({"run"}).code, 2) << broken;
  }
}

TEST_F(Expect, AReportIsWrittenIntoItsPage) {
  ASSERT_EQ(run({"run", "--fault", "bias_dropped", "--db", "h.db"}).code, 1);
  write("page.md", "# By hand\n");
  const std::vector<std::string> command{"report", "--converter", "embedded", "--db", "h.db", "--markdown", "page.md"};
  ASSERT_EQ(run(command).code, 0);
  const std::string once = core::read_file(path("page.md")).value();
  EXPECT_THAT(once, HasSubstr("# By hand\n"));
  EXPECT_THAT(once, HasSubstr("| version | verdicts | pass | fail |"));
  ASSERT_EQ(run(command).code, 0);
  EXPECT_EQ(core::read_file(path("page.md")).value(), once);
  EXPECT_EQ(run({"report", "--converter", "nobody", "--db", "h.db"}).code, 2);
}

TEST_F(Expect, AnotherExecutorIsJudgedBesideTheConverter) {
  const Call call = run({"run", "mini/stride=1", "--execute-with", "embedded", "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  const nlohmann::json results = call.json()["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["converter"], "embedded");
  EXPECT_EQ(results[1]["converter"], "embedded+embedded");
  EXPECT_EQ(results[1]["verdict"], "pass");
}

}  // namespace
}  // namespace assay::test
