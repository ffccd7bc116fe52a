#include "results/results_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "harness/core/files.hpp"
#include "results/machine.hpp"

namespace assay::results {
namespace {

using testing::HasSubstr;

JobKey tensorrt_job(const std::string& name) { return {name, "default", "tensorrt", "8.6.1"}; }

ResultRow tensorrt_row(const std::string& name) {
  ResultRow row;
  row.key = tensorrt_job(name);
  row.verdict = "fail";
  row.signature = "fail judge scale Concat";
  row.metrics = {{"y", "typical", "sqnr_db", 11.1}};
  return row;
}

class ResultsFile : public testing::Test {
 protected:
  ResultsFile() : folder_(core::TemporaryFolder::create().value()) {}
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] Store open(const std::string& name) const { return Store::open(path(name)).value(); }
  /// A store of one run with two verdicts of three, on a machine with an accelerator.
  [[nodiscard]] Store there() const {
    Store store = open("there.db");
    RunInfo info;
    info.suite = "seeds";
    info.machine = this_machine();
    info.machine.accelerators = "NVIDIA H200, driver 580.159.03";
    const auto run = store.begin_run(info, {tensorrt_job("a"), tensorrt_job("b"), tensorrt_job("c")}).value();
    EXPECT_TRUE(store.record(run, tensorrt_row("a")).ok());
    EXPECT_TRUE(store.record(run, tensorrt_row("b")).ok());
    return store;
  }
  [[nodiscard]] std::string refusal(const std::string& name) const {
    const auto runs = read_results_file(path(name));
    EXPECT_FALSE(runs.ok());
    return runs.ok() ? "" : runs.error().message;
  }
  void sql(const std::string& name, const std::string& statements) const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(path(name).c_str(), &connection), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
    sqlite3_close(connection);
  }

 private:
  core::TemporaryFolder folder_;
};

TEST_F(ResultsFile, CarriesARunWithItsMachine) {
  Store store = there();
  ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  const auto runs = read_results_file(path("results.db.gz"));
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  ASSERT_EQ(runs->size(), 1U);
  const Store::RecordedRun& run = runs->front();
  EXPECT_EQ(run.run.suite, "seeds");
  EXPECT_EQ(run.run.machine.accelerators, "NVIDIA H200, driver 580.159.03");
  EXPECT_EQ(run.results.size(), 2U);
  EXPECT_EQ(run.results.front().signature, "fail judge scale Concat");
  EXPECT_EQ(run.jobs.waiting, std::vector{tensorrt_job("c")});
}

TEST_F(ResultsFile, IsReadStepByStep) {
  Store store = there();
  ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  std::vector<std::pair<std::size_t, std::size_t>> read;
  const auto runs = read_results_file(path("results.db.gz"),
                                      [&](std::size_t done, std::size_t all) { read.emplace_back(done, all); });
  EXPECT_EQ(read, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {2, 2}}));
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->front().results.size(), 2U);
}

TEST_F(ResultsFile, OfVerdictsAloneLeavesOutWhatNoReportShows) {
  Store store = open("measured.db");
  ResultRow row = tensorrt_row("a");
  row.verdict = "fail";
  row.findings.emplace_back().message = "expected scale 1, actual 2";
  row.metrics = {{.tensor = "y", .data_set = "typical", .name = "sqnr_db", .value = 40}};
  row.parameters = {{"y", {{2}, {0}, core::DType::int8, std::nullopt}}};
  const auto run = store.begin_run({}, {tensorrt_job("a")}).value();
  ASSERT_TRUE(store.record(run, row).ok());
  ASSERT_TRUE(write_results_file(store, path("all.db.gz")).ok());
  ASSERT_TRUE(write_results_file(store, path("verdicts.db.gz"), Detail::verdicts).ok());
  const ResultRow all = read_results_file(path("all.db.gz"))->front().results.front(),
                  less = read_results_file(path("verdicts.db.gz"))->front().results.front();
  EXPECT_EQ(all.metrics.size(), 1U);
  EXPECT_EQ(all.parameters.size(), 1U);
  EXPECT_TRUE(less.metrics.empty());
  EXPECT_TRUE(less.parameters.empty());
  EXPECT_EQ(less.verdict, "fail");
  EXPECT_EQ(less.findings.size(), 1U);
}

TEST_F(ResultsFile, IsMergedOnceAndTouchesNothingThatIsHere) {
  Store store = there();
  ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  Store here = open("here.db");
  const auto own = here.begin_run({}, {tensorrt_job("a")}).value();
  ASSERT_TRUE(here.record(own, tensorrt_row("a")).ok());
  const auto runs = read_results_file(path("results.db.gz"));
  ASSERT_TRUE(runs.ok());
  const auto first = here.merge(*runs);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->runs, 1U);
  EXPECT_EQ(first->results, 2U);
  const auto second = here.merge(*runs);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->runs, 0U);
  EXPECT_EQ(second->results, 0U);
  EXPECT_EQ(here.runs()->size(), 2U);
  EXPECT_EQ(here.results(own)->size(), 1U);
}

TEST_F(ResultsFile, KeepsTheOrderInWhichVerdictsWereAccepted) {
  Store store = there();
  const std::string first = store.runs()->front().id;
  const auto second = store.begin_run({}, {tensorrt_job("a")}).value();
  ASSERT_TRUE(store.record(second, tensorrt_row("a")).ok());
  ASSERT_TRUE(store.accept(second, {tensorrt_job("a")}, "first").ok());
  ASSERT_TRUE(store.accept(first, {tensorrt_job("a")}, "last").ok());
  ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  Store here = open("here.db");
  ASSERT_TRUE(here.merge(read_results_file(path("results.db.gz")).value()).ok());
  EXPECT_EQ(here.anchors()->front().reason, "last");
}

TEST_F(ResultsFile, IsMergedWholeOrNotAtAll) {
  Store store = there();
  auto runs = std::vector{store.recorded(store.runs()->front()).value()};
  runs.push_back(runs.front());
  runs.back().run.id = "another";
  runs.back().results.back().key.case_name = "never planned";
  Store here = open("here.db");
  const auto merged = here.merge(runs);
  ASSERT_FALSE(merged.ok());
  EXPECT_THAT(merged.error().message, HasSubstr("never planned"));
  EXPECT_EQ(merged.error().kind, core::ErrorKind::invalid_data) << "what comes from elsewhere is no fault of ours";
  EXPECT_TRUE(here.runs()->empty());
}

TEST_F(ResultsFile, MayBeADatabaseThatAKilledRunLeft) {
  Store store = there();  // still open: its verdicts are in the log beside it
  ASSERT_TRUE(std::filesystem::exists(path("there.db-wal")));
  const auto runs = read_results_file(path("there.db"));
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  EXPECT_EQ(runs->front().results.size(), 2U);
}

TEST_F(ResultsFile, IsRefusedWhereItIsNone) {
  EXPECT_THAT(refusal("absent"), HasSubstr("is no file that can be read"));
  ASSERT_TRUE(core::write_file(path("text"), "no database at all").ok());
  EXPECT_THAT(refusal("text"), HasSubstr("is no SQLite database"));
  sql("theirs.db", "CREATE TABLE theirs (x)");
  EXPECT_THAT(refusal("theirs.db"), HasSubstr("is another program's database"));
  { const Store empty = open("empty.db"); }
  EXPECT_THAT(refusal("empty.db"), HasSubstr("holds no run"));
  ASSERT_TRUE(core::write_file(path("nothing"), "").ok());
  EXPECT_THAT(refusal("nothing"), HasSubstr("holds no run"));
}

TEST_F(ResultsFile, OfANewerSchemaIsRefused) {
  { const Store store = there(); }
  sql("there.db", "PRAGMA user_version = 99");
  EXPECT_THAT(refusal("there.db"), HasSubstr("has schema 99, this program knows up to 14: a newer Assay wrote it"));
}

TEST_F(ResultsFile, OfAnOlderSchemaIsReadFromACopy) {
  { const Store store = there(); }
  sql("there.db",
      "ALTER TABLE run DROP COLUMN accelerators; ALTER TABLE run DROP COLUMN settings; ALTER TABLE run DROP COLUMN "
      "owner; ALTER TABLE run DROP COLUMN beats; ALTER TABLE result DROP COLUMN judged_outputs; ALTER TABLE result "
      "DROP COLUMN judged_as; DROP TABLE coverage; DROP TABLE unjudged; DROP TABLE detail; DROP TABLE score; ALTER "
      "TABLE "
      "finding DROP COLUMN amber; ALTER TABLE result ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1; PRAGMA "
      "user_version = 3; PRAGMA journal_mode = DELETE");
  const std::string before = core::read_file(path("there.db")).value();
  const auto runs = read_results_file(path("there.db"));
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  EXPECT_EQ(runs->front().results.size(), 2U);
  EXPECT_EQ(runs->front().run.machine.accelerators, "");
  EXPECT_EQ(core::read_file(path("there.db")).value(), before);
}

TEST_F(ResultsFile, ThatIsDamagedIsRefused) {
  {
    Store store = there();
    ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  }
  const std::string whole = core::read_file(path("results.db.gz")).value();
  ASSERT_TRUE(core::write_file(path("short.gz"), whole.substr(0, whole.size() / 2)).ok());
  EXPECT_THAT(refusal("short.gz"), HasSubstr("is damaged"));
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(~changed[changed.size() / 2]);
  ASSERT_TRUE(core::write_file(path("changed.gz"), changed).ok());
  EXPECT_THAT(refusal("changed.gz"), HasSubstr("is damaged"));
  std::string database = core::read_file(path("there.db")).value();
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 2 * kPage; at < 12 * kPage; ++at) database[at] = static_cast<char>(0xa5);
  ASSERT_TRUE(core::write_file(path("pages.db"), database).ok());
  EXPECT_THAT(refusal("pages.db"), HasSubstr("is damaged"));
  // A verdict whose run is gone: sound pages, a broken reference.
  sql("there.db", "PRAGMA foreign_keys = OFF; DELETE FROM run");
  EXPECT_THAT(refusal("there.db"), HasSubstr("is damaged"));
}

TEST(Machine, TellsEqualAcceleratorsOnce) {
  EXPECT_EQ(accelerators_text(""), "");
  EXPECT_EQ(accelerators_text("No devices were found\n"), "");
  EXPECT_EQ(accelerators_text("NVIDIA H200, 580.159.03\n"), "NVIDIA H200, driver 580.159.03");
  EXPECT_EQ(accelerators_text("NVIDIA H200, 580.1\nNVIDIA L4, 580.1\nNVIDIA H200, 580.1\n"),
            "2 x NVIDIA H200, driver 580.1; NVIDIA L4, driver 580.1");
}

}  // namespace
}  // namespace assay::results
