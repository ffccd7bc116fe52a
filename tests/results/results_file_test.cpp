#include "results/results_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "harness/core/files.hpp"
#include "results/exchange.hpp"
#include "results/machine.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/sql.hpp"

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
  /// What a results file holds, read as one would read the database that it was imported into.
  [[nodiscard]] static std::vector<Store::RecordedRun> held(const core::Result<ResultsCopy>& copy) {
    EXPECT_TRUE(copy.ok()) << (copy.ok() ? "" : copy.error().message);
    std::vector<Store::RecordedRun> all;
    if (!copy) return all;
    Store store = Store::open(copy->database()).value();
    const auto runs = store.runs();
    for (const RunInfo& run : *runs) all.push_back(store.recorded(run).value());
    return all;
  }
  void sql(const std::string& name, const std::string& statements) const {
    ASSERT_EQ(test::run_sql(path(name), statements), "");
  }

 private:
  core::TemporaryFolder folder_;
};

TEST_F(ResultsFile, CarriesARunWithItsMachine) {
  Store store = there();
  ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  const auto copy = read_results_file(path("results.db.gz"));
  const auto runs = held(copy);
  ASSERT_EQ(runs.size(), 1U);
  const Store::RecordedRun& run = runs.front();
  EXPECT_EQ(copy->runs().front().verdicts, 2U);
  EXPECT_EQ(copy->runs().front().converters.at("tensorrt").at("8.6.1"), 2U);
  EXPECT_EQ(run.run.suite, "seeds");
  EXPECT_EQ(run.run.machine.accelerators, "NVIDIA H200, driver 580.159.03");
  EXPECT_EQ(run.results.size(), 2U);
  EXPECT_EQ(run.results.front().signature, "fail judge scale Concat");
  EXPECT_EQ(run.jobs.waiting, std::vector{tensorrt_job("c")});
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
  const ResultRow all = held(read_results_file(path("all.db.gz"))).front().results.front(),
                  less = held(read_results_file(path("verdicts.db.gz"))).front().results.front();
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
  const auto first = here.merge_database(runs->database());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->runs, 1U);
  EXPECT_EQ(first->results, 2U);
  const auto second = here.merge_database(runs->database());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->runs, 0U);
  EXPECT_EQ(second->results, 0U);
  EXPECT_EQ(here.runs()->size(), 2U);
  EXPECT_EQ(here.results(own)->size(), 1U);
}

TEST_F(ResultsFile, OfAnEarlierStateReopensNothing) {
  Store store = open("here.db");
  const auto run = store.begin_run({}, {tensorrt_job("a"), tensorrt_job("b")}).value();
  ASSERT_TRUE(store.record(run, tensorrt_row("a")).ok());
  ASSERT_TRUE(write_results_file(store, path("earlier.db.gz")).ok());
  ASSERT_TRUE(store.record(run, tensorrt_row("b")).ok());
  ASSERT_TRUE(store.merge_database(read_results_file(path("earlier.db.gz"))->database()).ok());
  EXPECT_TRUE(store.recorded(store.runs()->front())->jobs.waiting.empty()) << "\"b\" is done here";
}

TEST_F(ResultsFile, IsRefusedWhereItsRowsDoNotBelongTogether) {
  const auto refused = [&](const std::string& change) {
    { Store store = there(); }
    sql("there.db", change);
    std::string why = refusal("there.db");
    std::filesystem::remove(path("there.db"));
    return why;
  };
  EXPECT_THAT(refused("DELETE FROM verdict_more WHERE id = 1"), HasSubstr("have no metrics"));
  EXPECT_THAT(refused("UPDATE verdict_more SET findings = 777"), HasSubstr("aren't there"));
  EXPECT_THAT(refused("UPDATE content SET hash = 1 WHERE text = 'fail'"), HasSubstr("another one's hash"));
  EXPECT_THAT(refused("UPDATE content SET text = CAST(text AS BLOB)"), HasSubstr("stored as something else"));
  EXPECT_THAT(refused("UPDATE case_version SET name = name || char(10)"), HasSubstr("can't be shown"));
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
  ASSERT_TRUE(here.merge_database(read_results_file(path("results.db.gz"))->database()).ok());
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
  EXPECT_EQ(held(read_results_file(path("there.db"))).front().results.size(), 2U);
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
  EXPECT_THAT(refusal("there.db"), HasSubstr("has schema 99, this program knows up to 15: a newer Assay wrote it"));
}

TEST_F(ResultsFile, OfAnOlderSchemaIsReadFromACopy) {
  sql("old.db", core::read_file(test::test_data() / "results" / "schema_1.sql").value());
  const std::string before = core::read_file(path("old.db")).value();
  const auto runs = held(read_results_file(path("old.db")));
  EXPECT_EQ(runs.front().results.size(), 1U);
  EXPECT_EQ(runs.front().run.machine.accelerators, "");
  EXPECT_EQ(core::read_file(path("old.db")).value(), before);
}

TEST_F(ResultsFile, IsTakenOverByTablesAsItIsByRuns) {
  Store store = there();
  const std::string first = store.runs()->front().id;
  const auto second = store.begin_run({}, {tensorrt_job("a"), tensorrt_job("d")}).value();
  ResultRow row = tensorrt_row("a");
  row.verdict = "pass";
  row.findings.emplace_back().message = "a finding";
  row.parameters = {{"y", {{0.25, 0.5}, {0, 1}, core::DType::int8, 1}}};
  row.coverage = {{"Conv", 2, 1}};
  row.unjudged = {{"n", "Conv", "why"}};
  row.precision = {{"n", "Conv", "int8"}};
  row.attempts = {{"convert", 1, "ok", "", 0.5}};
  row.expectation = ExpectationRow{"a", "", "tensorrt", "<9", "judge", "scale", "off", "https://a.b", "", 1.25};
  row.artifact_kind = "qdq";
  row.artifact_hash = "ce7d30d34893447affb7af19ddfdef36d02178ec8ea2c5e083cef453db046122";
  row.detail = "{\"graph\": 1}";
  ASSERT_TRUE(store.record(second, row).ok());
  ASSERT_TRUE(store.accept(second, {tensorrt_job("a")}, "reviewed").ok());
  ASSERT_TRUE(write_results_file(store, path("results.db.gz")).ok());
  // Both already know something: other numbers stand for the same texts, and of the first run one verdict is there.
  const auto prepared = [&](const std::string& name) {
    Store here = open(name);
    const auto own = here.begin_run({}, {tensorrt_job("d")}).value();
    EXPECT_TRUE(here.record(own, tensorrt_row("d")).ok());
    Store::RecordedRun part = store.recorded(store.runs()->front()).value();
    part.results.pop_back();
    EXPECT_TRUE(here.merge({part}).ok());
    return here;
  };
  Store by_tables = prepared("tables.db"), by_runs = prepared("runs.db");
  const auto copy = read_results_file(path("results.db.gz"));
  const auto count = by_tables.merge_database(copy->database());
  ASSERT_TRUE(count.ok()) << count.error().message;
  const auto other = by_runs.merge(held(copy));
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(count->runs, other->runs);
  EXPECT_EQ(count->results, other->results);
  EXPECT_EQ(count->results, 2U);
  const auto lines = [](Store& of) {
    std::ostringstream text;
    EXPECT_TRUE(export_lines(of, text).ok());
    std::string all = text.str();
    return all.substr(all.find("\"kind\":\"run\"", all.find("\"kind\":\"run\"") + 1));  // their own first run differs
  };
  EXPECT_EQ(lines(by_tables), lines(by_runs));
  EXPECT_EQ(by_tables.anchors()->front().reason, "reviewed");
  EXPECT_EQ(by_tables.progress(first)->waiting, std::vector{tensorrt_job("c")});
  EXPECT_TRUE(by_tables.find_damage()->empty());
}

TEST_F(ResultsFile, WithANumberThatRefersToNothingIsTakenWholeOrNotAtAll) {
  { const Store store = there(); }
  sql("there.db", "UPDATE verdict SET outcome_id = 99 WHERE id = 2");
  EXPECT_THAT(refusal("there.db"), HasSubstr("have an outcome that isn't there"));
  Store here = open("here.db");
  EXPECT_FALSE(here.merge_database(path("there.db")).ok()) << "nor where nobody looked";
  EXPECT_TRUE(here.runs()->empty());
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
