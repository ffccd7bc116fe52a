#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/files.hpp"
#include "results/store.hpp"

namespace assay::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Anchors : public testing::Test {
 protected:
  Anchors() : folder_(core::TemporaryFolder::create().value()), store_(Store::open(folder_.path() / "h.db").value()) {}

  static JobKey key(const std::string& version = "1", const std::string& name = "conv/a") {
    return {name, "default", "c", version};
  }
  /// A finished run of one verdict.
  std::string run(double sqnr_db, const std::string& version = "1", const std::string& hash = "aa",
                  const std::string& name = "conv/a") {
    ResultRow row;
    row.key = key(version, name);
    row.family = "conv";
    row.case_hash = hash;
    row.verdict = "pass";
    row.sqnr_db = sqnr_db;
    row.parameters = {{"x", {{0.5}, {3}, core::DType::int8, std::nullopt}}};
    row.metrics = {{"y", "typical", "sqnr_db", sqnr_db}};
    row.started_at = std::to_string(1000 + ++clock_);
    std::string id = store_.begin_run({}, {row.key}).value();
    EXPECT_TRUE(store_.record(id, row).ok());
    EXPECT_TRUE(store_.finish_run(id).ok());
    return id;
  }

  core::TemporaryFolder folder_;
  Store store_;
  int clock_ = 0;
};

TEST_F(Anchors, AFreshDatabaseHasNone) {
  run(40);
  EXPECT_TRUE(store_.anchors()->empty());
}

TEST_F(Anchors, KeepWhatWasAcceptedAndWhy) {
  const std::string id = run(40);
  ASSERT_TRUE(store_.accept(id, {key()}, "first release").ok());
  const auto anchors = store_.anchors();
  ASSERT_TRUE(anchors.ok()) << anchors.error().message;
  ASSERT_EQ(anchors->size(), 1U);
  const AnchorRow& anchor = anchors->front();
  EXPECT_EQ(anchor.reason, "first release");
  EXPECT_THAT(anchor.accepted_at, testing::MatchesRegex("20..-..-..T.*Z"));
  EXPECT_EQ(anchor.result.key, key());
  EXPECT_EQ(anchor.result.sqnr_db, 40);
  EXPECT_EQ(anchor.result.parameters.size(), 1U);
  EXPECT_EQ(anchor.wobble.repeats, 1U);
}

TEST_F(Anchors, TheNewestCountsAndAnOldVerdictCanBeTakenBackAgain) {
  const std::string first = run(40), second = run(30, "2");
  for (const auto& [id, version] : {std::pair(first, "1"), {second, "2"}, {first, "1"}}) {
    ASSERT_TRUE(store_.accept(id, {key(version)}, "r").ok());
    ASSERT_EQ(store_.anchors()->size(), 1U);
    EXPECT_EQ(store_.anchors()->front().result.key.version, version);
  }
}

TEST_F(Anchors, AnEditedCaseHasItsOwn) {
  ASSERT_TRUE(store_.accept(run(40), {key()}, "r").ok());
  ASSERT_TRUE(store_.accept(run(30, "1", "bb"), {key()}, "r").ok());
  EXPECT_EQ(store_.anchors()->size(), 2U);
}

TEST_F(Anchors, AcceptingWhatARunDoesNotHaveChangesNothing) {
  const std::string id = run(40);
  const auto status = store_.accept(id, {key(), key("1", "conv/b")}, "r");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("no verdict of conv/b"));
  EXPECT_TRUE(store_.anchors()->empty());
}

TEST_F(Anchors, WobbleIsMeasuredUpToTheAcceptedVerdictOfItsVersion) {
  run(10, "0");
  run(40), run(41);
  const std::string id = run(40);
  run(90);
  ASSERT_TRUE(store_.accept(id, {key()}, "r").ok());
  const Wobble wobble = store_.anchors()->front().wobble;
  EXPECT_EQ(wobble.repeats, 3U);
  EXPECT_NEAR(wobble.sqnr_db, 1 / (0.6744897501960817 * std::sqrt(2.0)), 1e-12);
}

TEST_F(Anchors, ChangesStayOpenUntilANewerAnchorIsAccepted) {
  ASSERT_TRUE(store_.accept(run(40), {key()}, "first").ok());
  const std::string second = run(39, "2");
  const std::int64_t anchor = store_.anchors()->front().id;
  ASSERT_TRUE(store_.record_changes(second, {{key("2"), anchor, "sqnr", -1.0, "40 → 39", "", ""}}).ok());
  ASSERT_EQ(store_.changes(second)->size(), 1U);
  EXPECT_EQ(store_.changes(second)->front().accepted_at, "");
  EXPECT_EQ(store_.changes(second)->front().delta, -1.0);
  ASSERT_TRUE(store_.accept(second, {key("2")}, "rounding was corrected").ok());
  EXPECT_EQ(store_.changes(second)->front().reason, "rounding was corrected");
  EXPECT_NE(store_.changes(second)->front().accepted_at, "");
}

TEST_F(Anchors, AVersionIsItsAcceptedVerdictElseItsNewest) {
  const std::string accepted = run(40);
  run(41);
  run(20, "1", "aa", "conv/b"), run(21, "1", "aa", "conv/b");
  ASSERT_TRUE(store_.accept(accepted, {key()}, "r").ok());
  const auto rows = store_.anchors_of_version("c", "1");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 3U);  // accepted, and what would stand in for each series
  EXPECT_EQ(rows->front().result.sqnr_db, 40);
  EXPECT_EQ(rows->back().result.sqnr_db, 21);
  EXPECT_EQ(rows->back().id, 0);
  EXPECT_EQ(rows->back().wobble.repeats, 2U);
}

TEST_F(Anchors, TheNewestResultsAreThoseOfTheNewestContent) {
  run(40), run(30, "1", "bb"), run(99, "2");
  const auto rows = store_.newest_results("c", "1");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().case_hash, "bb");
}

TEST_F(Anchors, VersionsComeInTheirOrder) {
  run(1, "1.10"), run(1, "1.9"), run(1, "1.9.1");
  EXPECT_THAT(store_.versions("c").value(), ElementsAre("1.9", "1.9.1", "1.10"));
  EXPECT_TRUE(store_.versions("d")->empty());
}

}  // namespace
}  // namespace assay::results
