#include "results/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "harness/core/files.hpp"
#include "harness/core/owner.hpp"
#include "harness/core/process.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/sql.hpp"

namespace assay::results {
namespace {

using core::ErrorKind;
using testing::ElementsAre;
using testing::HasSubstr;

class StoreFile : public testing::Test {
 protected:
  StoreFile() : folder_(core::TemporaryFolder::create().value()) {}
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "deep" / "history.db"; }
  [[nodiscard]] Store open() const {
    auto store = Store::open(file());
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return std::move(store).value();
  }
  /// Runs SQL behind the store's back.
  void sql(const std::string& text) const {
    std::filesystem::create_directories(file().parent_path());
    ASSERT_EQ(test::run_sql(file(), text), "");
  }
  [[nodiscard]] std::string answer(const std::string& text) const { return test::sql_value(file(), text); }

 private:
  core::TemporaryFolder folder_;
};
using StoreOpen = StoreFile;
using StoreRuns = StoreFile;
using StoreKilled = StoreFile;

JobKey job(const std::string& name, const std::string& options = "default") {
  return {name, options, "embedded", "0.1.0", "c0ffee"};
}

std::vector<JobKey> jobs(std::size_t count) {
  std::vector<JobKey> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = job("case" + std::to_string(i));
  return keys;
}

RunInfo run_info(const std::string& suite = "seeds") {
  RunInfo info;
  info.command = "assay run " + suite;
  info.suite = suite;
  info.assay_version = "0.1.0";
  return info;
}

ResultRow full_row(const JobKey& key) {
  ResultRow row;
  row.key = key;
  row.family = "conv";
  row.case_hash = "aa11";
  row.verdict = "fail";
  row.gate = "red";
  row.stage = "judge";
  row.facet = "scale";
  row.node = "c1";
  row.op = "Conv";
  row.reason = "scale of \"x\": 0.0236, not 0.0472\nsecond line";
  row.signature = "fail|judge|scale|Conv|…";
  row.style = "float";
  row.layers = "L0,L1";
  row.artifact_kind = "qdq";
  row.artifact_hash = "beef";
  row.judged_as = "judged by the policy of somebody 1.0";
  row.artifact_bytes = 1234;
  row.margin = 1.5;
  row.seconds = 0.25;
  row.started_at = "2026-01-02T03:04:06.000Z";
  row.findings = {{"judge", "scale", "c1", "Conv", "x", "typical", "L0", "off", 1.5, true},
                  {"judge", "nan", "", "", "y", "ties", "", "", std::nan("")}};
  row.metrics = {{"y", "typical", "sqnr_db", 33.25}, {"y", "zeros", "sqnr_db", HUGE_VAL}};
  row.parameters = {{"x", {{static_cast<double>(0.0236F)}, {-3}, core::DType::int8, std::nullopt}},
                    {"w", {{0.5, std::nan(""), 1e-45}, {0, 0, 0}, core::DType::uint8, 1, 2}}};
  row.precision = {{"c1", "Conv", "int8"}};
  row.attempts = {{"convert", 1, "timeout", "no answer", 20.5}, {"convert", 2, "ok", "", 0.5}};
  row.expectation =
      ExpectationRow{"conv/*", "", "embedded", "<2", "judge", "scale", "off", "https://a.b", "2027-01-01", 1.25};
  return row;
}

void expect_same(const ResultRow& a, const ResultRow& b) {
  EXPECT_EQ(a.key, b.key);
  const auto words = [](const ResultRow& r) {
    return std::vector<std::string>{
        r.family, r.case_hash, r.verdict, r.gate,   r.stage,         r.facet,         r.node,      r.op,
        r.reason, r.signature, r.style,   r.layers, r.artifact_kind, r.artifact_hash, r.judged_as, r.started_at};
  };
  EXPECT_EQ(words(a), words(b));
  EXPECT_EQ(a.artifact_bytes, b.artifact_bytes);
  EXPECT_EQ(a.margin, b.margin);
  EXPECT_EQ(a.sqnr_db, b.sqnr_db);
  EXPECT_EQ(a.seconds, b.seconds);
  ASSERT_EQ(a.findings.size(), b.findings.size());
  EXPECT_EQ(a.findings[0].message, b.findings[0].message);
  EXPECT_TRUE(std::isnan(b.findings[1].margin));
  EXPECT_TRUE(b.findings[0].amber);
  EXPECT_FALSE(b.findings[1].amber);
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  EXPECT_EQ(a.metrics[1].value, b.metrics[1].value);
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  EXPECT_EQ(a.parameters[0].params, b.parameters[0].params);
  EXPECT_EQ(a.parameters[1].params.axis, b.parameters[1].params.axis);
  EXPECT_EQ(a.parameters[1].params.block, b.parameters[1].params.block);
  EXPECT_EQ(a.parameters[1].params.type, b.parameters[1].params.type);
  EXPECT_EQ(a.parameters[1].params.scale[2], b.parameters[1].params.scale[2]);
  EXPECT_TRUE(std::isnan(b.parameters[1].params.scale[1]));
  ASSERT_EQ(a.precision.size(), b.precision.size());
  EXPECT_EQ(a.precision[0].got, b.precision[0].got);
  ASSERT_EQ(a.attempts.size(), b.attempts.size());
  EXPECT_EQ(a.attempts[0].outcome, b.attempts[0].outcome);
  ASSERT_TRUE(b.expectation.has_value());
  EXPECT_EQ(a.expectation->url, b.expectation->url);
  EXPECT_EQ(a.expectation->margin, b.expectation->margin);
}

TEST_F(StoreRuns, AVerdictComesBackAsItWasStored) {
  const ResultRow row = full_row(job("conv/groups=2"));
  std::string run;
  {
    Store store = open();
    run = store.begin_run(run_info(), {row.key}).value();
    ASSERT_TRUE(store.job_started(run, row.key).ok());
    ASSERT_TRUE(store.record(run, row).ok());
    ASSERT_TRUE(store.finish_run(run).ok());
  }
  Store store = open();
  const auto rows = store.results(run);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1U);
  expect_same(row, rows->front());
}

TEST_F(StoreRuns, ARunKnowsItsMachineAndItsTimes) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->size(), 36U);
  ASSERT_TRUE(store.finish_run(*run).ok());
  const auto runs = store.runs();
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 1U);
  const RunInfo& info = runs->front();
  EXPECT_EQ(info.id, *run);
  EXPECT_EQ(info.planned, 1U);
  EXPECT_THAT(info.started_at, testing::MatchesRegex("20..-..-..T..:..:..\\....Z"));
  EXPECT_GE(info.finished_at, info.started_at);
  EXPECT_GT(info.machine.cores, 0);
  EXPECT_FALSE(info.machine.system.empty());
}

TEST_F(StoreRuns, ProgressTellsDoneStartedAndWaitingInPlannedOrder) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("b"), job("a"), job("c"), job("a", "entropy")}).value();
  ASSERT_TRUE(store.job_started(run, job("b")).ok());
  ASSERT_TRUE(store.job_started(run, job("a")).ok());
  ASSERT_TRUE(store.record(run, full_row(job("b"))).ok());
  const auto progress = store.progress(run);
  ASSERT_TRUE(progress.ok());
  EXPECT_THAT(progress->done, ElementsAre(job("b")));
  EXPECT_THAT(progress->started, ElementsAre(job("a")));
  EXPECT_THAT(progress->waiting, ElementsAre(job("c"), job("a", "entropy")));
}

TEST_F(StoreRuns, TheNewestUnfinishedRunOfTheSuiteIsResumed) {
  Store store = open();
  const auto old = store.begin_run(run_info(), {job("a")}).value();
  const auto newest = store.begin_run(run_info(), {job("a")}).value();
  const auto finished = store.begin_run(run_info(), {job("a")}).value();
  const auto other = store.begin_run(run_info("real"), {job("a")}).value();
  ASSERT_TRUE(store.finish_run(finished).ok());
  EXPECT_EQ(store.unfinished_runs("seeds").value().front().id, newest);
  ASSERT_TRUE(store.finish_run(newest).ok());
  EXPECT_EQ(store.unfinished_runs("seeds").value().front().id, old);
  EXPECT_EQ(store.unfinished_runs("real").value().front().id, other);
  EXPECT_TRUE(store.unfinished_runs("none").value().empty());
}

TEST_F(StoreRuns, TwoProgramsOfOneNameAndVersionHaveAVerdictEach) {
  Store store = open();
  JobKey one = job("a"), other = job("a");
  other.hash = "beef";
  const auto run = store.begin_run(run_info(), {one, other}).value();
  ASSERT_TRUE(store.record(run, full_row(one)).ok());
  ASSERT_TRUE(store.job_started(run, other).ok());
  EXPECT_THAT(store.progress(run)->started, ElementsAre(other));
  ASSERT_TRUE(store.record(run, full_row(other)).ok());
  const auto rows = store.results(run);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].key, one);
  EXPECT_EQ((*rows)[1].key, other);
  ASSERT_TRUE(store.accept(run, {other}, "r").ok());
  EXPECT_EQ(store.anchors()->front().result.key, other);
  EXPECT_EQ(store.newest_results("embedded", "0.1.0")->size(), 1U) << "a series goes by name and version";
  EXPECT_THAT(store.newest_programs("embedded", "0.1.0").value(), ElementsAre("c0ffee", "beef"));
  const auto later = store.begin_run(run_info(), {one}).value();
  ASSERT_TRUE(store.record(later, full_row(one)).ok());
  EXPECT_THAT(store.newest_programs("embedded", "0.1.0").value(), ElementsAre("c0ffee")) << "the newest run alone";
}

TEST_F(StoreRuns, TheProgramOfAVersionIsTheOneOfItsNewestVerdict) {
  Store store = open();
  EXPECT_FALSE(store.known_program("embedded", "0.1.0", "").value().has_value());
  std::string newest;
  for (const char* hash : {"first", "second"}) {
    JobKey key = job("a");
    key.hash = hash;
    newest = store.begin_run(run_info(), {key}).value();
    ASSERT_TRUE(store.record(newest, full_row(key)).ok());
  }
  EXPECT_EQ(store.known_program("embedded", "0.1.0", "").value()->hash, "second");
  EXPECT_EQ(store.known_program("embedded", "0.1.0", newest).value()->hash, "first");
  EXPECT_FALSE(store.known_program("embedded", "0.2.0", "").value().has_value());
}

TEST_F(StoreRuns, AClockThatWasSetBackHidesNothing) {
  Store store = open();
  std::vector<std::string> runs;
  for (const char* year : {"2026", "2020"}) {
    RunInfo info = run_info();
    info.started_at = std::string(year) + "-01-01T00:00:00.000Z";
    runs.push_back(store.begin_run(info, {job("a")}).value());
    ResultRow row = full_row(job("a"));
    row.started_at = info.started_at;
    row.reason = year;
    ASSERT_TRUE(store.record(runs.back(), row).ok());
  }
  EXPECT_EQ(store.runs()->back().id, runs.back());
  EXPECT_EQ(store.unfinished_runs("seeds")->front().id, runs.back());
  EXPECT_EQ(store.newest_results("embedded", "0.1.0")->front().reason, "2020");
  EXPECT_EQ(store.history("a")->back().result.reason, "2020");
  ASSERT_TRUE(store.accept(runs.back(), {job("a")}, "r").ok());
  EXPECT_EQ(store.anchors()->front().wobble.repeats, 2U) << "the older run came before, whatever its date";
}

TEST_F(StoreRuns, TheLastAcceptanceCountsThoughTheClockWasSetBackBeforeIt) {
  Store store = open();
  std::vector<std::string> runs;
  for (int number = 0; number < 2; ++number) {
    runs.push_back(store.begin_run(run_info(), {job("a")}).value());
    ASSERT_TRUE(store.record(runs.back(), full_row(job("a"))).ok());
  }
  ASSERT_TRUE(store.accept(runs[0], {job("a")}, "first").ok());
  sql("UPDATE anchor SET accepted_at = '2099-01-01T00:00:00.000Z'");
  ASSERT_TRUE(store.accept(runs[1], {job("a")}, "last").ok());
  ASSERT_EQ(store.anchors()->size(), 1U);
  EXPECT_EQ(store.anchors()->front().reason, "last");
  EXPECT_EQ(store.anchors_of_version("embedded", "0.1.0")->front().reason, "last");
}

using StoreLost = StoreFile;

TEST_F(StoreLost, ARemovedDatabaseIsNoticedAtTheNextVerdict) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a"), job("b")}).value();
  ASSERT_TRUE(store.record(run, full_row(job("a"))).ok());
  std::filesystem::remove(file());
  for (const core::Status& status :
       {store.beat(run), store.record(run, full_row(job("b"))), store.record_changes(run, {}), store.finish_run(run),
        store.release_run(run), store.accept(run, {job("a")}, "r")}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::internal);
    EXPECT_THAT(status.error().message, HasSubstr("was removed or replaced"));
  }
}

TEST_F(StoreLost, NoRunBeginsAndNoneIsMergedInARemovedDatabase) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")}).value();
  const Store::RecordedRun recorded = store.recorded(store.runs()->front()).value();
  std::filesystem::remove(file());
  EXPECT_FALSE(store.begin_run(run_info(), {job("a")}).ok());
  const auto merged = store.merge({recorded});
  ASSERT_FALSE(merged.ok());
  EXPECT_THAT(merged.error().message, HasSubstr("was removed or replaced"));
}

TEST_F(StoreLost, ARemovedLogIsNoticedToo) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a"), job("b")}).value();
  ASSERT_TRUE(store.record(run, full_row(job("a"))).ok());
  std::filesystem::remove(file().string() + "-wal");
  EXPECT_FALSE(store.record(run, full_row(job("b"))).ok());
}

TEST_F(StoreLost, ADatabasePutInItsPlaceIsNoticed) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")}).value();
  ASSERT_TRUE(store.record(run, full_row(job("a"))).ok());
  std::filesystem::rename(file(), file().string() + ".old");
  { const auto another = Store::open(file()); }
  EXPECT_FALSE(store.finish_run(run).ok());
}

TEST_F(StoreRuns, AVerdictThatWasNotPlannedOrIsThereAlreadyIsRefused) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")}).value();
  const auto unplanned = store.record(run, full_row(job("b")));
  ASSERT_FALSE(unplanned.ok());
  EXPECT_THAT(unplanned.error().message, HasSubstr("b with options default"));
  ASSERT_TRUE(store.record(run, full_row(job("a"))).ok());
  EXPECT_FALSE(store.record(run, full_row(job("a"))).ok());
  EXPECT_EQ(store.results(run)->size(), 1U);
  EXPECT_EQ(answer("SELECT count(*) FROM metric"), "2");
}

TEST_F(StoreRuns, AJobPlannedTwiceIsRefused) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a"), job("a")});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("planned twice"));
  EXPECT_TRUE(store.runs()->empty());
}

TEST_F(StoreRuns, AnEditedCaseStartsANewSeries) {
  Store store = open();
  for (const char* hash : {"aa11", "aa11", "bb22"}) {
    const auto run = store.begin_run(run_info(), {job("conv/a")}).value();
    ResultRow row = full_row(job("conv/a"));
    row.case_hash = hash;
    ASSERT_TRUE(store.record(run, row).ok());
  }
  EXPECT_EQ(answer("SELECT count(*) FROM case_version"), "2");
}

TEST_F(StoreRuns, HistoryGoesByPatternOldestFirst) {
  Store store = open();
  std::vector<std::string> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(store.begin_run(run_info(), {job("conv/k=1"), job("concat/k=1")}).value());
    ASSERT_TRUE(store.record(runs.back(), full_row(job("conv/k=1"))).ok());
    ASSERT_TRUE(store.record(runs.back(), full_row(job("concat/k=1"))).ok());
  }
  const auto rows = store.history("conv/*");
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*rows)[i].run.id, runs[i]);
    EXPECT_EQ((*rows)[i].result.key.case_name, "conv/k=1");
  }
  EXPECT_EQ(store.history("*")->size(), 6U);
}

TEST_F(StoreRuns, SeveralThreadsRecordAtOnce) {
  Store store = open();
  const std::vector<JobKey> keys = jobs(200);
  const auto run = store.begin_run(run_info(), keys).value();
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < keys.size(); i += 4) EXPECT_TRUE(store.record(run, full_row(keys[i])).ok());
      });
    }
  }
  EXPECT_EQ(store.results(run)->size(), keys.size());
}

TEST_F(StoreRuns, AReaderSeesWholeVerdictsWhileWeWrite) {
  Store store = open();
  const std::vector<JobKey> keys = jobs(200);
  const auto run = store.begin_run(run_info(), keys).value();
  std::jthread writer([&] {
    for (const JobKey& key : keys) EXPECT_TRUE(store.record(run, full_row(key)).ok());
  });
  Store reader = open();
  std::size_t seen = 0;
  std::size_t looks = 0;
  while (seen < keys.size()) {
    const auto rows = reader.results(run);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_GE(rows->size(), seen);
    seen = rows->size();
    for (const ResultRow& row : *rows) ASSERT_EQ(row.metrics.size(), 2U);
    ++looks;
  }
  EXPECT_GT(looks, 0U);
}

TEST_F(StoreRuns, AThousandVerdictsASecondAreEasy) {
  Store store = open();
  const std::vector<JobKey> keys = jobs(1000);
  const auto run = store.begin_run(run_info(), keys).value();
  ResultRow row = full_row(keys[0]);
  row.metrics.assign(40, {"y", "typical", "sqnr_db", 33.25});
  row.parameters.assign(8, row.parameters[0]);
  const auto begin = std::chrono::steady_clock::now();
  for (const JobKey& key : keys) {
    row.key = key;
    ASSERT_TRUE(store.job_started(run, key).ok());
    ASSERT_TRUE(store.record(run, row).ok());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("verdicts_per_second", std::to_string(1000 / seconds));
  EXPECT_LT(seconds, 20);  // a machine under load; alone it takes a fraction of a second
}

TEST_F(StoreOpen, SchemaOneIsMigratedAndKeepsItsRows) {
  sql(core::read_file(test::test_data() / "results" / "schema_1.sql").value());
  sql("INSERT INTO anchor VALUES (3, 7, '2026-02-01', 'kept'); INSERT INTO change VALUES (4, 3, 7, 'sqnr', -1, '', "
      "'')");
  {
    Store store = open();
    const auto anchors = store.anchors();
    ASSERT_TRUE(anchors.ok()) << anchors.error().message;
    ASSERT_EQ(anchors->size(), 1U);
    EXPECT_EQ(anchors->front().reason, "kept");
    EXPECT_EQ(store.changes("run-1")->front().anchor, 3);
    const auto rows = store.results("run-1");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows->size(), 1U);
    const ResultRow& row = rows->front();
    EXPECT_EQ(row.key, job("conv/groups=2"));
    EXPECT_EQ(row.reason, "scale is off");
    EXPECT_EQ(row.margin, 1.5);
    EXPECT_EQ(row.parameters.front().params.scale, (std::vector<double>{0.5, 0.25}));
    EXPECT_EQ(row.artifact_bytes, 1234U);
    EXPECT_FALSE(row.expectation.has_value());
    EXPECT_EQ(store.unfinished_runs("seeds").value().front().id, "run-1");
    JobKey without_hash = job("conv/groups=4");  // no program's hash was known to a job then
    without_hash.hash.clear();
    EXPECT_THAT(store.progress("run-1")->started, ElementsAre(without_hash));
    ASSERT_TRUE(store.claim_run("run-1").ok());
    EXPECT_TRUE(store.record("run-1", full_row(without_hash)).ok());
  }
  EXPECT_EQ(answer("PRAGMA user_version"), "15");
  EXPECT_EQ(answer("SELECT count(*) FROM attempt"), "2");
  EXPECT_EQ(answer("PRAGMA foreign_key_check"), "");
}

TEST_F(StoreOpen, AJobFindsItsProgramInALargeRun) {
  sql(core::read_file(test::test_data() / "results" / "schema_1.sql").value());
  // Each verdict has its row; looking for it among all rows of its run would take minutes.
  sql("WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 20999) "
      "INSERT INTO case_version SELECT i, 'big/' || i, 'big', 'h' FROM n;"
      "INSERT INTO run SELECT 'big', command, suite, started_at, '', assay_version, 20000, machine_id FROM run LIMIT 1;"
      "INSERT INTO job SELECT 'big', c.name, 'default', converter.name, v.version, c.id, 'done' FROM case_version c, "
      "converter_version v JOIN converter ON converter.id = v.converter_id WHERE c.id >= 1000 "
      "AND v.id = (SELECT min(id) FROM converter_version);"
      "INSERT INTO result SELECT c.id, 'big', c.id, (SELECT min(id) FROM converter_version), 'default', 'pass', "
      "'green', '', '', '', '', '', '', '', '', NULL, NULL, 0, 1, '' FROM case_version c WHERE c.id >= 1000");
  const auto begin = std::chrono::steady_clock::now();
  { const Store store = open(); }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 20);
  EXPECT_EQ(answer("SELECT count(*) FROM job WHERE run_id = 'big' AND hash = (SELECT hash FROM converter_version "
                   "ORDER BY id LIMIT 1)"),
            "20000");
}

/// Verdicts as schema 14 had them, with their run and jobs: "NAME VERDICT MARGIN" each, numbered from 1 on.
std::string verdicts_14(const std::vector<std::array<std::string, 3>>& rows) {
  std::string text =
      core::read_file(test::test_data() / "results" / "schema_14.sql").value() +
      "INSERT INTO machine VALUES (1, 'Some CPU', 'avx2', 4, 'Linux 6.1 x86_64');"
      "INSERT INTO converter VALUES (1, 'embedded');"
      "INSERT INTO converter_version VALUES (1, 1, '0.1.0', 'c0ffee');"
      "INSERT INTO run VALUES ('run-1', 'run seeds', 'seeds', '2026-01-02T03:04:05.000Z', '', '0.1.0', 9, "
      "1, '', '', '', 0);";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [name, verdict, margin] = rows[i];
    const std::string id = std::to_string(i + 1);
    text += "INSERT INTO case_version VALUES (" + id + ", '" + name + "', 'conv', 'aa11');";
    text += "INSERT INTO job VALUES ('run-1', '" + name + "', 'default', 'embedded', '0.1.0', 'c0ffee', " + id +
            ", 'done');";
    text += "INSERT INTO result VALUES (" + id + ", 'run-1', " + id + ", 1, 'default', '" + verdict +
            "', 'red', 'judge', 'scale', 'c1', 'Conv', 'scale is off', 'fail|judge', 'float', 'L0,L1', " + margin +
            ", 33.25, 0.125, '2026-01-02T03:04:06.000Z', NULL, NULL, '');";
  }
  return text;
}

TEST_F(StoreOpen, LossesThatWereMeasuredByNameAreNoLongerCalledAsTheNewOnesAre) {
  sql(verdicts_14({{"conv/groups=2", "fail", "1.5"}}) +
      "INSERT INTO metric VALUES (1, 0, 'y', 'typical', 'sqnr_db', 33.25), (1, 1, 'r', 'typical', 'sqnr_loss_db', "
      "49.3);"
      "ALTER TABLE result DROP COLUMN judged_as; DROP TABLE detail; DROP TABLE score; ALTER TABLE finding DROP COLUMN "
      "amber; ALTER TABLE result ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1; ALTER TABLE parameter DROP COLUMN "
      "block; "
      "PRAGMA user_version = 7");
  { const Store store = open(); }
  EXPECT_EQ(answer("SELECT value FROM metric WHERE name = 'sqnr_loss_db_by_name'"), "49.3");
  EXPECT_EQ(answer("SELECT count(*) FROM metric WHERE name = 'sqnr_loss_db'"), "0");
  EXPECT_EQ(answer("SELECT count(*) FROM metric WHERE name = 'sqnr_db'"), "1");
  EXPECT_EQ(answer("SELECT count(*) FROM result WHERE judged_as = ''"), "1") << "nobody wrote it down then";
}

TEST_F(StoreOpen, AMarginOfTheOutputsBecomesThatOfTheVerdict) {
  std::string text = verdicts_14({{"of/finding", "fail", "0.25"},
                                  {"of/node", "fail", "0.25"},
                                  {"of/outputs", "fail", "1.5"},
                                  {"of/nothing", "fail", "0.25"},
                                  {"of/pass", "pass", "0.25"}});
  for (const std::string id : {"1", "2", "3", "4", "5"}) {
    text += "INSERT INTO finding VALUES (" + id + ", 0, 'judge', 'scale', 'c1', 'Conv', 'x', '', 'L0', 'off', " +
            (id == "4" ? "0" : "368") + ", 0);";
  }
  sql(text +
      "INSERT INTO metric VALUES (2, 0, 'y', 'typical', 'local_margin', 99.5);"
      "ALTER TABLE parameter DROP COLUMN block; PRAGMA user_version = 11");
  { const Store store = open(); }
  const auto margin_of = [&](const std::string& name) {
    return answer("SELECT margin FROM result JOIN case_version ON case_version.id = case_version_id WHERE name = '" +
                  name + "'");
  };
  EXPECT_EQ(margin_of("of/finding"), "368.0");
  EXPECT_EQ(margin_of("of/node"), "99.5");
  EXPECT_EQ(margin_of("of/outputs"), "1.5");
  EXPECT_EQ(margin_of("of/nothing"), "NULL");
  EXPECT_EQ(margin_of("of/pass"), "0.25");
}

TEST_F(StoreOpen, SchemaFourteenIsPackedAndKeepsEveryRow) {
  sql(verdicts_14({{"conv/groups=2", "fail", "1e999"}, {"conv/groups=4", "pass", "NULL"}}) +
      "UPDATE result SET started_at = 'some time' WHERE id = 2;"
      "INSERT INTO finding VALUES (1, 0, 'judge', 'nan', '', '', 'y \"z\"', 'ties', '', 'two' || char(10) || 'lines', "
      "'NaN', 1);"
      "INSERT INTO metric VALUES (1, 0, 'y', 'typical', 'sqnr_db', 33.123456789012345), (1, 1, 'y', 'zeros', "
      "'sqnr_db', "
      "9e999);"
      "INSERT INTO parameter VALUES (1, 0, 'x', '[0.023600000888109207]', '[-3]', 'int8', NULL, 0);"
      "INSERT INTO parameter VALUES (1, 1, 'w', '[0.1,\"NaN\",1e-320]', '[0,0,1]', 'uint8', 1, 2);"
      "INSERT INTO precision VALUES (1, 0, 'c1', 'Conv', 'int8');"
      "INSERT INTO attempt VALUES (1, 0, 'convert', 2, 'ok', '', 0.30000000000000004);"
      "INSERT INTO coverage VALUES (1, 0, 'Conv', 2, 1); INSERT INTO unjudged VALUES (1, 0, 'c2', 'Conv', 'why');"
      "INSERT INTO artifact VALUES (1, 'qdq', 'beef', 7), (2, 'qdq', "
      "'ce7d30d34893447affb7af19ddfdef36d02178ec8ea2c5e083cef453db046122', 1754);"
      "INSERT INTO anchor VALUES (3, 1, '2026-02-01', 'kept', 1, 0, 0);"
      "INSERT INTO change VALUES (4, 3, 2, 'sqnr', -1, 'detail', '', '');"
      "INSERT INTO job VALUES ('run-1', 'conv/groups=8', 'default', 'embedded', '0.1.0', 'c0ffee', 8, 'started'),"
      "('run-1', 'conv/groups=9', 'default', 'embedded', '0.1.0', 'c0ffee', 9, 'waiting')");
  const auto list = [&](const std::string& columns, const std::string& table) {
    return answer("SELECT json_group_array(json_array(" + columns + ")) FROM (SELECT * FROM " + table +
                  " ORDER BY 1, 2)");
  };
  const std::vector<std::pair<std::string, std::string>> tables{
      {"id, run_id, case_version_id, converter_version_id, options, verdict, gate, stage, facet, node, op, reason, "
       "signature, style, layers, printf('%!.17g', margin), sqnr_db, seconds, started_at, expectation_id, "
       "judged_outputs, judged_as",
       "result"},
      {"result_id, position, stage, facet, node, op, tensor, data_set, layer, message, margin, amber", "finding"},
      {"result_id, position, tensor, data_set, name, printf('%!.17g', value)", "metric"},
      {"result_id, position, tensor, zero_point, type, axis, block", "parameter"},
      {"result_id, position, node, op, got", "precision"},
      {"result_id, position, request, number, outcome, reason, printf('%!.17g', seconds)", "attempt"},
      {"result_id, position, op, nodes, judged", "coverage"},
      {"result_id, position, node, op, reason", "unjudged"},
      {"result_id, kind, hash, size_bytes", "artifact"},
      {"id, result_id, accepted_at, reason, repeats, wobble_db, parameters_wobble", "anchor"},
      {"id, anchor_id, result_id, kind, delta, detail, accepted_at, reason", "change"},
      {"run_id, case_name, options, converter, version, hash, position, state", "job"}};
  std::vector<std::string> before, after;
  for (const auto& [columns, table] : tables) before.push_back(list(columns, table));
  { const Store store = open(); }
  for (const auto& [columns, table] : tables) after.push_back(list(columns, table));
  EXPECT_EQ(before, after);
  Store store = open();
  const auto rows = store.results("run-1");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->front().parameters[0].params.scale, std::vector{0.023600000888109207});
  EXPECT_EQ(rows->front().parameters[1].params.scale[0], 0.1) << "no float32 has this value";
  EXPECT_EQ(rows->front().parameters[1].params.scale[2], 1e-320);
  EXPECT_EQ(rows->front().margin, HUGE_VAL);
  EXPECT_EQ(rows->back().started_at, "some time");
  EXPECT_TRUE(store.find_damage()->empty());
  EXPECT_EQ(answer("PRAGMA foreign_key_check"), "");
}

TEST_F(StoreOpen, AnExpectedFailureWithAnotherMarginIsAnother) {
  const std::vector<JobKey> keys{job("conv/groups=1"), job("conv/groups=2"), job("conv/groups=3"),
                                 job("conv/groups=4")};
  Store store = open();
  const std::string run = store.begin_run(run_info(), keys).value();
  const std::vector<std::optional<double>> margins{16, 34, std::nullopt, 16};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ResultRow row = full_row(keys[i]);
    row.expectation->margin = margins[i];
    const core::Status recorded = store.record(run, row);
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  }
  EXPECT_EQ(answer("SELECT count(*) FROM expectation"), "3");
  EXPECT_EQ(answer("SELECT count(DISTINCT expectation_id) FROM result"), "3");
}

TEST_F(StoreOpen, ANewFileHasTheNewestSchemaInWalMode) {
  { const Store store = open(); }
  EXPECT_EQ(answer("PRAGMA user_version"), "15");
  EXPECT_EQ(answer("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(answer("PRAGMA application_id"), std::to_string(0x41736179));
  for (const char* table :
       {"machine", "converter", "converter_version", "case_version", "run", "verdict", "verdict_more", "outcome",
        "content", "open_job", "expectation", "anchor", "change", "detail", "score"}) {
    EXPECT_EQ(answer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" + std::string(table) + "'"),
              "1")
        << table;
  }
  for (const char* view : {"result", "job", "finding", "metric", "parameter", "precision", "artifact", "attempt",
                           "coverage", "unjudged"}) {
    EXPECT_EQ(answer("SELECT count(*) FROM " + std::string(view)), "0");
  }
}

TEST_F(StoreOpen, ANewerSchemaIsRefusedUntouched) {
  { const Store store = open(); }
  sql("PRAGMA user_version = 99");
  const auto before = core::read_file(file()).value();
  const auto store = Store::open(file());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::usage);
  EXPECT_THAT(store.error().message, HasSubstr("schema 99, this program knows up to 15"));
  EXPECT_EQ(core::read_file(file()).value(), before);
}

TEST_F(StoreOpen, AnotherProgramsDatabaseIsRefusedUntouched) {
  sql("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
  const auto before = core::read_file(file()).value();
  const auto store = Store::open(file());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("another program's database"));
  EXPECT_EQ(core::read_file(file()).value(), before);
}

TEST_F(StoreOpen, AFileThatIsNoDatabaseIsRefusedUntouched) {
  std::filesystem::create_directories(file().parent_path());
  ASSERT_TRUE(core::write_file(file(), "{\"not\": \"a database\"}").ok());
  const auto store = Store::open(file());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("is no SQLite database"));
  EXPECT_EQ(core::read_file(file()).value(), "{\"not\": \"a database\"}");
}

TEST_F(StoreOpen, ACorruptDatabaseIsRefused) {
  { const Store store = open(); }
  auto bytes = core::read_file(file()).value();
  std::fill(bytes.begin() + 100, bytes.end(), '\xee');
  ASSERT_TRUE(core::write_file(file(), bytes).ok());
  const auto store = Store::open(file());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("can't be read"));
}

TEST_F(StoreOpen, AFolderIsRefused) {
  std::filesystem::create_directories(file());
  const auto store = Store::open(file());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("is a folder"));
}

using StoreOwned = StoreFile;

/// Records verdicts in a process of its own.
class Writer {
 public:
  Writer(const std::filesystem::path& file, const std::string& run) {
    core::SpawnOptions options;
    options.arguments = {ASSAY_TEST_STORE_WRITER, file.string(), run};
    process_.emplace(core::Process::spawn(options).value());
    EXPECT_EQ(process_->read_line(core::Process::Clock::now() + std::chrono::seconds(60)).end,
              core::Process::ReadEnd::line);
  }
  void kill() { process_->kill_group(); }
  [[nodiscard]] int pid() const { return process_->pid(); }

 private:
  std::optional<core::Process> process_;
};

TEST_F(StoreOwned, ARunIsClaimedOnlyOnceItsProcessHasEnded) {
  Writer writer(file(), "run-1");
  Store store = open();
  const auto refused = store.claim_run("run-1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("is under way: process " + std::to_string(writer.pid())));
  writer.kill();
  EXPECT_TRUE(store.claim_run("run-1").ok());
  EXPECT_TRUE(store.beat("run-1").ok());
}

TEST_F(StoreOwned, ALaterProcessWithTheSameNumberIsAnotherOne) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")}).value();
  ASSERT_TRUE(store.claim_run(run).ok()) << "its own";
  const std::string self = answer("SELECT owner FROM run");
  EXPECT_EQ(core::process_state(self), core::ProcessState::runs);
  EXPECT_EQ(core::process_state(self + "0"), core::ProcessState::ended);
  sql("UPDATE run SET owner = owner || '0'");
  EXPECT_FALSE(store.beat(run).ok()) << "taken over";
  EXPECT_TRUE(store.claim_run(run).ok());
  ASSERT_TRUE(store.release_run(run).ok());
  EXPECT_EQ(answer("SELECT owner FROM run"), "");
}

TEST_F(StoreOwned, WhoWasTakenOverWritesNothingMore) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")}).value();
  sql("UPDATE run SET owner = owner || '0'");  // another process, which took this one for dead
  for (const core::Status& status :
       {store.job_started(run, job("a")), store.record(run, full_row(job("a"))), store.finish_run(run)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::internal);
    EXPECT_THAT(status.error().message, HasSubstr("has taken it over"));
  }
  EXPECT_EQ(answer("SELECT state FROM job"), "waiting");
  EXPECT_EQ(answer("SELECT count(*) FROM result"), "0");
  EXPECT_EQ(answer("SELECT finished_at FROM run"), "");
}

TEST_F(StoreOwned, AnOwnerThatIsNotSeenFromHereLivesWhileItBeats) {
  Store store = open();
  const auto run = store.begin_run(run_info(), {job("a")}).value();
  sql("UPDATE run SET owner = 'another-boot pid:[1] 1 1'");
  {
    const std::jthread heart([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        sql("UPDATE run SET beats = beats + 1");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    });
    const auto refused = store.claim_run(run);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("on another machine or in another container"));
  }
  EXPECT_TRUE(store.claim_run(run).ok()) << "it has stopped";
}

TEST_F(StoreKilled, NothingThatWasRecordedIsLost) {
  const std::string run = "11111111-2222-4333-8444-555555555555";
  core::SpawnOptions options;
  options.arguments = {ASSAY_TEST_STORE_WRITER, file().string(), run};
  auto writer = core::Process::spawn(options);
  ASSERT_TRUE(writer.ok());
  const auto deadline = core::Process::Clock::now() + std::chrono::seconds(60);
  std::set<std::string> said;
  while (said.size() < 500) {
    const auto line = writer->read_line(deadline);
    ASSERT_EQ(line.end, core::Process::ReadEnd::line);
    said.insert(line.text);
  }
  EXPECT_EQ(exit_text(writer->kill_group()), "signal 9 (SIGKILL)");
  for (auto line = writer->read_line(deadline); line.end == core::Process::ReadEnd::line;
       line = writer->read_line(deadline)) {
    said.insert(line.text);
  }

  Store store = open();
  const auto progress = store.progress(run);
  ASSERT_TRUE(progress.ok());
  std::set<std::string> done;
  for (const JobKey& key : progress->done) done.insert(key.case_name);
  EXPECT_TRUE(std::ranges::includes(done, said));
  EXPECT_LE(progress->started.size(), 1U);
  EXPECT_EQ(progress->done.size() + progress->started.size() + progress->waiting.size(), 100000U);
  const auto rows = store.results(run);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->size(), done.size());
  for (const ResultRow& row : *rows) ASSERT_EQ(row.metrics.size(), 20U);
  EXPECT_EQ(answer("PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace assay::results
