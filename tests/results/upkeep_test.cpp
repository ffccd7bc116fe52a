#include "results/upkeep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "harness/core/files.hpp"
#include "results/exchange.hpp"
#include "results/store.hpp"
#include "tests/support/sql.hpp"

namespace assay::results {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Upkeep : public testing::Test {
 protected:
  Upkeep() : folder_(core::TemporaryFolder::create().value()) {}
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] Store open(const std::string& name = "history.db") const { return Store::open(path(name)).value(); }
  static JobKey job(const std::string& name, const std::string& version, const std::string& converter = "c") {
    return {name, "default", converter, version, "c0ffee"};
  }
  static ResultRow row(const JobKey& key, double sqnr_db) {
    ResultRow row;
    row.key = key;
    row.family = "f";
    row.case_hash = "aa";
    row.verdict = "pass";
    row.gate = "green";
    row.sqnr_db = sqnr_db;
    row.started_at = "2026-01-02T03:04:06.000Z";
    row.metrics = {{"y", "typical", "sqnr_db", sqnr_db}};
    row.parameters = {{"y " + key.version + key.case_name, {{sqnr_db}, {0}, core::DType::int8, std::nullopt}}};
    row.findings.emplace_back().message = "of " + key.version;
    row.detail = "{}";
    return row;
  }
  static std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = "case" + std::to_string(i);
    return all;
  }
  static std::vector<JobKey> jobs(const std::vector<std::string>& cases, const std::string& version,
                                  const std::string& converter = "c") {
    std::vector<JobKey> keys;
    keys.reserve(cases.size());
    for (const std::string& name : cases) keys.push_back(job(name, version, converter));
    return keys;
  }
  /// A complete run of cases by one version. Its id.
  static std::string record(Store& store, const std::vector<std::string>& cases, const std::string& version,
                            const std::string& suite = "seeds", const std::string& converter = "c") {
    const std::vector<JobKey> keys = jobs(cases, version, converter);
    RunInfo info;
    info.suite = suite;
    std::string run = store.begin_run(info, keys).value();
    double sqnr_db = 30;
    for (const JobKey& key : keys) EXPECT_TRUE(store.record(run, row(key, sqnr_db += 1)).ok());
    EXPECT_TRUE(store.finish_run(run).ok());
    return run;
  }
  static std::vector<std::string> ids(Store& store) {
    std::vector<std::string> all;
    const auto runs = store.runs();
    for (const RunInfo& run : *runs) all.push_back(run.id);
    return all;
  }
  [[nodiscard]] std::string answer(const std::string& text) const { return test::sql_value(path("history.db"), text); }

 private:
  core::TemporaryFolder folder_;
};
using Prune = Upkeep;
using Backup = Upkeep;

TEST_F(Prune, KeepsTheNewestRunsOfEachSelectionAndConverter) {
  Store store = open();
  const auto old = record(store, {"a", "b"}, "1"), newer = record(store, {"a", "b"}, "2"),
             other_suite = record(store, {"a", "b"}, "1", "real"),
             other_converter = record(store, {"a", "b"}, "1", "seeds", "d"), newest = record(store, {"a", "b"}, "3");
  const Retention retention{.runs = 2, .versions = {}};
  const auto plan = store.plan_prune(retention);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(ids(store).size(), 5U) << "a plan deletes nothing";
  const auto pruned = store.prune(retention);
  ASSERT_TRUE(pruned.ok()) << pruned.error().message;
  EXPECT_THAT(ids(store), ElementsAre(newer, other_suite, other_converter, newest));
  for (const auto* each : {&*plan, &*pruned}) {
    EXPECT_EQ(each->runs, 1U);
    EXPECT_EQ(each->verdicts, 2U);
    EXPECT_EQ(each->kept_runs, 4U);
    EXPECT_EQ(each->kept_verdicts, 8U);
  }
  EXPECT_EQ(store.results(newest)->front().findings.front().message, "of 3");
  EXPECT_THAT(store.versions("c").value(), ElementsAre("1", "2", "3")) << "1 is in the other selection";
  EXPECT_THAT(*store.find_damage(), IsEmpty());
  EXPECT_EQ(answer("SELECT count(*) FROM content WHERE text LIKE '%of 2%'"), "1");
  EXPECT_EQ(store.prune(retention)->verdicts, 0U);
}

TEST_F(Prune, KeepsTheNewestVersionsWithAllTheirRuns) {
  Store store = open();
  record(store, {"a"}, "1.9");
  const auto first = record(store, {"a"}, "1.10"), again = record(store, {"a"}, "1.10");
  ASSERT_TRUE(store.prune({.runs = {}, .versions = 1}).ok());
  EXPECT_THAT(ids(store), ElementsAre(first, again));
  EXPECT_THAT(store.versions("c").value(), ElementsAre("1.10"));
  EXPECT_EQ(answer("SELECT count(*) FROM detail"), "2");
  EXPECT_EQ(answer("SELECT count(*) FROM content WHERE text LIKE '%of 1.9%'"), "0") << "its texts went with it";
}

TEST_F(Prune, KeepsAnchorsAndWhatIsComparedWithThem) {
  Store store = open();
  const auto first = record(store, {"a", "b"}, "1");
  ASSERT_TRUE(store.accept(first, {job("a", "1")}, "reviewed").ok());
  const auto second = record(store, {"a", "b"}, "2"), third = record(store, {"b"}, "3");
  const auto anchor = store.anchors()->front();
  ASSERT_TRUE(store.record_changes(second, {{job("a", "2"), anchor.id, "sqnr", -1, "lost", "", ""}}).ok());
  for (const char* version : {"4", "5"}) record(store, {"b"}, version);
  ASSERT_TRUE(store.prune({.runs = 1, .versions = {}}).ok());
  EXPECT_EQ(store.anchors()->front().reason, "reviewed");
  EXPECT_EQ(store.anchors()->front().result.parameters.front().params.scale, std::vector{31.0});
  EXPECT_EQ(store.results(first)->size(), 1U) << "of the accepted run only what was accepted";
  EXPECT_EQ(store.results(second)->size(), 1U) << "the newest of a, whose change nobody has accepted";
  EXPECT_EQ(store.changes(second)->front().detail, "lost");
  EXPECT_TRUE(store.results(third)->empty());
  EXPECT_THAT(*store.find_damage(), IsEmpty());
}

TEST_F(Prune, KeepsTheNewestVerdictOfACaseThatNoNewRunHas) {
  Store store = open();
  const auto with_a = record(store, {"a", "b"}, "1");
  record(store, {"b"}, "2");
  record(store, {"b"}, "3");
  ASSERT_TRUE(store.prune({.runs = 1, .versions = {}}).ok());
  ASSERT_EQ(store.history("a")->size(), 1U);
  EXPECT_EQ(store.history("a")->front().run.id, with_a);
  EXPECT_EQ(store.history("b")->size(), 1U);
}

TEST_F(Prune, LeavesARunAloneThatIsNotComplete) {
  Store store = open();
  const auto open_run = store.begin_run({}, {job("a", "1"), job("b", "1")}).value();
  ASSERT_TRUE(store.record(open_run, row(job("a", "1"), 30)).ok());
  for (const char* version : {"2", "3", "4"}) record(store, {"a", "b"}, version, "");
  ASSERT_TRUE(store.prune({.runs = 1, .versions = {}}).ok());
  EXPECT_EQ(store.results(open_run)->size(), 1U);
  EXPECT_THAT(store.progress(open_run)->waiting, ElementsAre(job("b", "1")));
  ASSERT_TRUE(store.record(open_run, row(job("b", "1"), 30)).ok());
}

TEST_F(Prune, AKillLeavesEveryRunWholeOrGoneAndTheNextPruneGoesOn) {
  constexpr int kRuns = 60;
  constexpr std::size_t kCases = 40;
  std::vector<std::string> cases;
  for (std::size_t i = 0; i < kCases; ++i) cases.push_back("case" + std::to_string(i));
  std::string accepted;
  {
    Store store = open();
    for (int i = 0; i < kRuns; ++i) {
      const auto run = record(store, cases, std::to_string(i));
      if (i == 0) accepted = run;
    }
    ASSERT_TRUE(store.accept(accepted, {job("case7", "0")}, "reviewed").ok());
  }
  const Retention retention{.runs = 2, .versions = {}};
  std::set<std::size_t> left;
  bool in_the_middle = false;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = Store::open(path("history.db"));
      // Every other child ends between two transactions, the others wherever the signal meets them.
      (void)store->prune(retention, [&](std::size_t done, std::size_t /*all*/) {
        if (attempt % 2 == 0 && done == 3) raise(SIGKILL);
      });
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(4 + attempt));
    if (attempt % 2 == 1) kill(child, SIGKILL);
    int how = 0;
    waitpid(child, &how, 0);
    Store store = open();
    ASSERT_THAT(*store.find_damage(), IsEmpty()) << "after kill " << attempt;
    const auto runs = ids(store);
    for (const std::string& run : runs) {
      const std::size_t verdicts = store.results(run)->size();
      EXPECT_TRUE(verdicts == kCases || (run == accepted && verdicts == 1)) << verdicts << " after kill " << attempt;
    }
    ASSERT_EQ(store.anchors()->front().result.key.case_name, "case7");
    left.insert(runs.size());
    in_the_middle = in_the_middle || (runs.size() > 3 && runs.size() < kRuns);
    if (runs.size() == 3 && WIFEXITED(how)) break;
  }
  EXPECT_TRUE(in_the_middle) << "no kill met a prune";
  Store store = open();
  ASSERT_TRUE(store.prune(retention).ok());
  EXPECT_EQ(ids(store).size(), 3U) << "two runs and the accepted verdict's";
  EXPECT_EQ(answer("SELECT count(*) FROM verdict"), std::to_string(2 * kCases + 1));
}

TEST_F(Prune, ARunGoesOnWritingMeanwhile) {
  Store store = open();
  const std::vector<std::string> cases = names(100);
  for (int i = 0; i < 30; ++i) record(store, cases, std::to_string(i));
  const std::vector<JobKey> keys = jobs(cases, "new");
  Store writer = open();
  const auto run = writer.begin_run({}, keys).value();
  std::jthread writing([&] {
    for (const JobKey& key : keys) {
      const auto status = writer.record(run, row(key, 30));
      EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    }
  });
  const auto pruned = store.prune({.runs = 1, .versions = {}});
  ASSERT_TRUE(pruned.ok()) << pruned.error().message;
  writing.join();
  EXPECT_EQ(store.results(run)->size(), keys.size());
  EXPECT_THAT(*store.find_damage(), IsEmpty());
}

TEST_F(Upkeep, VacuumGivesBackWhatPruneFreed) {
  Store store = open();
  std::vector<std::string> cases(100);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i] = "case" + std::to_string(i);
  for (int i = 0; i < 20; ++i) record(store, cases, std::to_string(i));
  const auto pruned = store.prune({.runs = 1, .versions = {}});
  ASSERT_TRUE(pruned.ok());
  EXPECT_GT(pruned->bytes, 0U);
  const auto sizes = store.vacuum();
  ASSERT_TRUE(sizes.ok()) << sizes.error().message;
  EXPECT_LT(sizes->after, sizes->before - pruned->bytes / 2);
  EXPECT_EQ(std::filesystem::file_size(path("history.db")), sizes->after);
  EXPECT_EQ(store.history("*")->size(), cases.size());
}

TEST_F(Upkeep, DamageIsFound) {
  {
    Store store = open();
    record(store, {"a", "b"}, "1");
    EXPECT_THAT(*store.find_damage(), IsEmpty());
  }
  const std::map<std::string, std::string> breaks{
      {"UPDATE verdict SET outcome_id = 99 WHERE id = 1", "1 verdicts have an outcome that isn't there"},
      {"UPDATE verdict_more SET parameters = 999",
       "2 verdicts have metrics, parameters, findings or requests that "
       "aren't there"},
      {"DELETE FROM verdict_more WHERE id = 2", "1 verdicts have no metrics, parameters and so on"},
      {"DELETE FROM content WHERE text = 'green'", "1 outcomes have words that aren't there"},
      {"DELETE FROM run", "a row of table verdict refers to one of run that isn't there"}};
  for (const auto& [statement, line] : breaks) {
    const std::string whole = core::read_file(path("history.db")).value();
    ASSERT_EQ(test::run_sql(path("history.db"), statement), "");
    {
      Store store = open();
      EXPECT_THAT(*store.find_damage(), testing::Contains(line)) << statement;
    }
    std::filesystem::remove(path("history.db-wal"));
    std::filesystem::remove(path("history.db-shm"));
    ASSERT_TRUE(core::write_file(path("history.db"), whole).ok());
  }
}

TEST_F(Backup, IsAStateOfTheDatabaseWhileARunWrites) {
  Store writer = open();
  const std::vector<JobKey> keys = jobs(names(300), "1");
  const auto run = writer.begin_run({}, keys).value();
  std::atomic<std::size_t> written = 0;
  std::jthread writing([&] {
    for (const JobKey& key : keys) {
      EXPECT_TRUE(writer.record(run, row(key, 30)).ok());
      ++written;
    }
  });
  Store store = open();
  std::size_t seen = 0;
  for (int number = 0; written < keys.size(); ++number) {
    const std::string name = "backup" + std::to_string(number) + ".db";
    const std::size_t before = written;
    const auto status = store.back_up(path(name));
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_FALSE(std::filesystem::exists(path(name + "-wal")));
    Store copy = open(name);
    EXPECT_THAT(*copy.find_damage(), IsEmpty());
    seen = copy.results(run)->size();
    EXPECT_GE(seen, before);
    EXPECT_EQ(copy.progress(run)->waiting.size(), keys.size() - seen);
  }
}

}  // namespace
}  // namespace assay::results
