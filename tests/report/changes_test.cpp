#include "harness/report/changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/made_row.hpp"

namespace assay::report {
namespace {

using results::ResultRow;
using testing::HasSubstr;
using testing::Not;

std::string page_of(const std::vector<ResultRow>& before, const std::vector<ResultRow>& now) {
  Comparison comparison{"embedded 1.0.0", "its accepted anchors", {}, now};
  for (const ResultRow& row : before) comparison.anchors.push_back({1, row, "2026-01-31T12:00:00Z", "reviewed", {}});
  return changes_page(comparison, "run default --fault bias_dropped");
}

TEST(Changes, OfNothingAreOneSentence) {
  const std::vector<ResultRow> rows{made_row("a", "pass"), made_row("b", "xfail", "wrong as ever")};
  EXPECT_EQ(page_of(rows, rows),
            "### ✅ Assay: nothing changed\n\n"
            "embedded 1.0.0 against its accepted anchors: 2 verdicts compared, 2 unchanged.\n");
}

TEST(Changes, HaveATickOnlyWhereTheExitCodeIsZero) {
  EXPECT_THAT(page_of({made_row("a", "pass")}, {made_row("a", "unsupported", "no such operator")}),
              HasSubstr("### ⚠️ Assay: 1 moved"));
  EXPECT_THAT(page_of({made_row("a", "fail", "wrong as ever")}, {made_row("a", "fail", "wrong as ever")}),
              HasSubstr("### ⚠️ Assay: nothing changed"));
}

TEST(Changes, GroupWhatBecameRedByCause) {
  std::vector<ResultRow> before, now;
  for (const char* name : {"a/longer=1", "a/x=1", "a/xy=1"}) {
    before.push_back(made_row(name, "pass"));
    now.push_back(made_row(name, "fail", "tensor \"" + std::string(name) + "\": expected 1.25, actual 2.5"));
  }
  const std::string page = page_of(before, now);
  EXPECT_THAT(page, HasSubstr("### ❌ Assay: 3 newly red verdicts"));
  EXPECT_THAT(page, HasSubstr("<b>3×</b> fail artifact/scale, for example <code>a/x=1</code>"));
  EXPECT_THAT(page, HasSubstr("reproduce: ./assay run a/x=1 --options default --fault bias_dropped"));
  EXPECT_THAT(page, Not(HasSubstr("a/xy=1")));
}

TEST(Changes, ShowWhatIsNewAndWhatIsMended) {
  const std::string page = page_of({made_row("a", "fail", "wrong")},
                                   {made_row("a", "pass"), made_row("b", "pass"), made_row("c", "crash", "signal 11")});
  EXPECT_THAT(page, HasSubstr("1 newly red verdict, 1 no longer red"));
  EXPECT_THAT(page, HasSubstr("**New and red**"));
  EXPECT_THAT(page, HasSubstr("<code>c</code>"));
  EXPECT_THAT(page, HasSubstr("- `a` (default): fail artifact/scale → pass"));
  EXPECT_THAT(page, HasSubstr("2 new."));
}

TEST(Changes, ShowMovedMeasuresFolded) {
  ResultRow before = made_row("a", "pass"), now = made_row("a", "pass");
  before.sqnr_db = 40;
  now.sqnr_db = 35;
  const std::string page = page_of({before}, {now});
  EXPECT_THAT(page, HasSubstr("### ⚠️ Assay: 1 moved"));
  EXPECT_THAT(page, HasSubstr("<details><summary>1 other verdict that moved</summary>"));
  EXPECT_THAT(page, HasSubstr("- `a` (default): sqnr 40"));
}

TEST(Changes, DoNotLoseWhatDriftDoesNotCompare) {
  ResultRow edited = made_row("a", "fail", "wrong");
  edited.case_hash = "2";
  const std::string page =
      page_of({made_row("a", "pass"), made_row("b", "pass")}, {edited, made_row("b", "harness-error", "no room")});
  EXPECT_THAT(page, HasSubstr("2 newly red verdicts"));
  EXPECT_THAT(page, HasSubstr("1 of cases that were edited since"));
}

TEST(Changes, CannotBreakOutOfTheirPage) {
  const std::string page = page_of({}, {made_row("<img src=x>", "fail", "```\n</details><script>")});
  EXPECT_THAT(page, HasSubstr("<code>&lt;img src=x&gt;</code>"));
  EXPECT_THAT(page, HasSubstr("````\n```\n</details><script>")) << "the fence is longer than any inside";
}

}  // namespace
}  // namespace assay::report
