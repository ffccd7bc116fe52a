#include "harness/report/html/html_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "harness/core/files.hpp"
#include "harness/report/html/encoded.hpp"

namespace assay::report {
namespace {

using nlohmann::json;
using results::JobKey;
using results::ResultRow;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&<!--";

ResultRow row_of(const JobKey& key, const std::string& verdict) {
  ResultRow row;
  row.key = key;
  row.family = "family";
  row.case_hash = "hash";
  row.verdict = verdict;
  row.gate = verdict == "pass" ? "green" : "red";
  if (verdict != "pass") {
    row.stage = "artifact";
    row.facet = "scale";
    row.op = "Conv";
    row.reason = "tensor \"w1\": a 3 b\n  a detail";
    row.margin = 1.5;
    row.findings = {{"artifact", "scale", "", "Conv", "w1", "", "L0", row.reason, 368}};
  }
  row.sqnr_db = 30;
  return row;
}

class HtmlReport : public testing::Test {
 protected:
  HtmlReport()
      : folder_(core::TemporaryFolder::create().value()),
        store_(results::Store::open(folder_.path() / "results.db").value()) {}

  void record(const std::vector<ResultRow>& rows, std::vector<JobKey> more = {}) {
    for (const ResultRow& row : rows) more.push_back(row.key);
    const std::string run = store_.begin_run({}, more).value();
    for (const ResultRow& row : rows) ASSERT_TRUE(store_.record(run, row).ok());
  }
  [[nodiscard]] std::string page(const HtmlScope& scope = {{}, "results.db", {}}) {
    auto html = html_report(store_, scope);
    EXPECT_TRUE(html.ok()) << (html.ok() ? "" : html.error().message);
    return html.ok() ? *std::move(html) : "";
  }
  static json table(const std::string& page) {
    const std::string mark = "id=\"table\">";
    const auto from = page.find(mark) + mark.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from));
  }
  results::Store& store() { return store_; }

 private:
  core::TemporaryFolder folder_;
  results::Store store_;
};

TEST_F(HtmlReport, HoldsEveryVerdictAndWhatWasPlanned) {
  record({row_of({"a", "default", "embedded", "1"}, "pass"), row_of({"b", "default", "embedded", "1"}, "fail")},
         {{"c", "default", "embedded", "1"}});
  const json data = table(page());
  EXPECT_EQ(data["columns"]["case"].size(), 2U);
  EXPECT_EQ(data["runs"][0]["done"], 2);
  EXPECT_EQ(data["runs"][0]["waiting"], 1);
  const auto text = [&](const char* column, std::size_t row) {
    return data["strings"][data["columns"][column][row].get<std::size_t>()].get<std::string>();
  };
  EXPECT_EQ(text("case", 1), "b");
  EXPECT_EQ(text("cause", 1), "artifact|scale|Conv|tensor \"…\": a # b");
  EXPECT_EQ(data["columns"]["margin"][1], 1.5) << "the recorded one";
}

TEST_F(HtmlReport, NamesCannotBecomeMarkup) {
  ResultRow row = row_of({kHostile, kHostile, kHostile, kHostile}, "fail");
  row.family = row.node = row.op = row.reason = row.case_hash = row.signature = kHostile;
  row.findings = {{"judge", "scale", kHostile, kHostile, kHostile, kHostile, "L0", kHostile, 2}};
  row.detail = json{{"explanation", kHostile}}.dump();
  record({row});
  const std::string html = page({{}, kHostile, {}});
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<img src")));
  const json data = table(html);
  const auto strings = data["strings"].get<std::vector<std::string>>();
  EXPECT_THAT(strings, testing::Contains(kHostile)) << "and yet it is there as it was";
  EXPECT_EQ(data["database"], kHostile);
}

TEST_F(HtmlReport, TakesBytesThatAreNoText) {
  ResultRow row = row_of({"a", "default", "embedded", "1"}, "fail");
  row.reason = "\xff\xfe broken \x01";
  record({row});
  EXPECT_THAT(table(page())["strings"].dump(), HasSubstr("broken"));
}

TEST_F(HtmlReport, LoadsNothingAndRunsOnlyItsOwnScript) {
  record({row_of({"a", "default", "embedded", "1"}, "pass")});
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  for (const char* loads : {"<link", " src=\"", "@import", "url(http"}) EXPECT_THAT(html, Not(HasSubstr(loads)));
}

TEST_F(HtmlReport, ComparesEachVersionWithTheOneBefore) {
  const auto of = [](const char* version, const char* verdict) {
    return row_of({"a", "default", "embedded", version}, verdict);
  };
  record({of("1.10", "fail"), of("1.9", "pass"), of("1.11", "fail")});
  const json data = table(page());
  EXPECT_EQ(data["versions"], json::parse(R"([["embedded","1.9"],["embedded","1.10"],["embedded","1.11"]])"));
  ASSERT_EQ(data["changes"].size(), 1U) << "from 1.9 to 1.10 alone";
  EXPECT_EQ(data["changes"][0][0], 1) << "the row of 1.9";
  EXPECT_EQ(data["changes"][0][1], 0) << "the row of 1.10";
  EXPECT_EQ(data["changes"][0][2][0][0], "verdict");
}

TEST_F(HtmlReport, ComparesTheNewestVerdictWithTheAnchor) {
  const JobKey key{"a", "default", "embedded", "1"};
  const std::string run = store().begin_run({}, {key}).value();
  ASSERT_TRUE(store().record(run, row_of(key, "pass")).ok());
  ASSERT_TRUE(store().accept(run, {key}, "as it should be").ok());
  ResultRow worse = row_of(key, "pass");
  worse.sqnr_db = 20;
  record({worse});
  const json data = table(page());
  ASSERT_EQ(data["anchors"].size(), 1U);
  EXPECT_EQ(data["anchors"][0][2][0][0], "sqnr");
  EXPECT_EQ(data["anchors"][0][2][0][1], -10);
  EXPECT_EQ(data["anchors"][0][4], "as it should be");
  EXPECT_EQ(data["columns"]["newest"], json::parse("[0,1]"));
}

TEST_F(HtmlReport, KeepsWhatACasesPageDraws) {
  ResultRow row = row_of({"a", "default", "embedded", "1"}, "fail");
  row.detail = R"({"explanation":"why"})";
  record({row_of({"z", "default", "embedded", "1"}, "pass"), row});
  EXPECT_THAT(page(), HasSubstr("id=\"d1\">" + packed(row.detail).value()));
}

TEST_F(HtmlReport, HoldsWhatWasMeasuredOfAssay) {
  record({row_of({"a", "default", "embedded", "1"}, "pass")});
  ASSERT_TRUE(store().record_score("score default", R"({"faults":2})").ok());
  EXPECT_EQ(table(page())["scores"][0]["measured"]["faults"], 2);
}

TEST_F(HtmlReport, IsLimitedToConvertersAndRuns) {
  record({row_of({"a", "default", "one", "1"}, "pass"), row_of({"a", "default", "two", "1"}, "pass")});
  EXPECT_EQ(table(page({{"two"}, "", {}}))["versions"], json::parse(R"([["two","1"]])"));
  EXPECT_FALSE(html_report(store(), {{"three"}, "", {}}).ok());
  EXPECT_FALSE(html_report(store(), {{}, "", "no such run"}).ok());
}

TEST(Base64, EncodesAnyLength) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(JsonNumber, IsReadByAnyBrowser) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(HUGE_VAL), "1e999");
  EXPECT_EQ(json_number(-HUGE_VAL), "-1e999");
  EXPECT_EQ(json_number(std::nan("")), "null");
}

}  // namespace
}  // namespace assay::report
