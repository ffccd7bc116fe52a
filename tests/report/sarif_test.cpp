#include "harness/report/sarif.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/core/files.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "tests/report/made_row.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::report {
namespace {

using nlohmann::json;
using results::ResultRow;
using testing::IsEmpty;

corpus::CasePlaces places() {
  corpus::CasePlaces places;
  places.add("cases/a b.json", "{ \"family\": \"a\",\n  \"forms\": {\n    \"f\": {},\n    \"g\": {} } }");
  return places;
}

/// The results of these verdicts; the document must be valid.
json results_of(const std::vector<ResultRow>& rows) {
  const json document = json::parse(sarif_json(made_run(), rows, places()));
  const auto schema = core::read_file(test::source_tree() / "tests/data/sarif.schema.json");
  EXPECT_TRUE(schema.ok());
  EXPECT_THAT(test::schema_faults(json::parse(*schema), document), IsEmpty());
  const json& run = document["runs"][0];
  for (const json& result : run["results"]) {
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
  }
  return run["results"];
}

TEST(Sarif, HoldsWhatIsNotGreen) {
  ResultRow expected = made_row("a/form=g", "xfail", "got 7");
  expected.expectation = results::ExpectationRow{"a", "", "embedded", "", "", "", "rounds down", "https://x/1", "", {}};
  const json results = results_of({made_row("a", "pass"), made_row("a", "fail", "wrong"),
                                   made_row("a", "unjudged", "no"), made_row("a", "unsupported", "no"), expected});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0]["level"], "error");
  EXPECT_EQ(results[1]["level"], "warning");
  EXPECT_EQ(results[2]["level"], "note");
  EXPECT_EQ(results[2]["suppressions"][0]["justification"], "rounds down (https://x/1)");
  EXPECT_FALSE(results[0].contains("suppressions"));
}

TEST(Sarif, PointsAtTheCasesFileAndLine) {
  const json results = results_of({made_row("a/form=g,k=1", "fail", "x"), made_row("other/form=g", "fail", "x")});
  const json& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "cases/a%20b.json");
  EXPECT_EQ(place["region"]["startLine"], 4);
  EXPECT_FALSE(results[1]["locations"][0].contains("physicalLocation")) << "no case of the corpus";
  EXPECT_EQ(results[1]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "other/form=g");
}

TEST(Sarif, DoesNotSayThatAnInstalledCaseLiesInTheRepository) {
  corpus::CasePlaces installed;
  installed.add("/usr/share/assay/cases/a.json", "{ \"family\": \"a\" }");
  const json document = json::parse(sarif_json(made_run(), {made_row("a", "fail", "x")}, installed));
  const json& file = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
  EXPECT_EQ(file["uri"], "file:///usr/share/assay/cases/a.json");
  EXPECT_FALSE(file.contains("uriBaseId"));
}

TEST(Sarif, GivesTheSameDefectTheSameFingerprint) {
  ResultRow other_options = made_row("a", "fail", "scale 1.5 is wrong");
  other_options.key.options = "uint8";
  ResultRow newer = made_row("a", "fail", "scale 1.7 is wrong");
  newer.key.version = "2.0.0";
  const json results = results_of({made_row("a", "fail", "scale 1.5 is wrong"), newer, other_options,
                                   made_row("a", "fail", "another thing is wrong")});
  const auto print = [&](std::size_t i) { return results[i]["partialFingerprints"]["assayVerdict/v1"]; };
  EXPECT_EQ(print(0), print(1)) << "another version and other numbers";
  EXPECT_NE(print(0), print(2));
  EXPECT_NE(print(0), print(3));
}

TEST(Sarif, KeepsAnyBytesOfAConverter) {
  ResultRow row = made_row("a", "fail", "\xff \x01");
  row.margin = HUGE_VAL;
  EXPECT_EQ(results_of({row}).size(), 1U);
}

TEST(Sarif, HasASentenceForEveryFacet) {
  for (int i = 0; i <= static_cast<int>(judge::Facet::resources); ++i) {
    const std::string name(judge::facet_name(static_cast<judge::Facet>(i)));
    EXPECT_NE(facet_sentence(name), "") << name;
  }
  EXPECT_EQ(facet_sentence("no facet"), "");
}

}  // namespace
}  // namespace assay::report
