// A run in chunks: plan, work and merge come to what one process records, whatever happened to the chunks meanwhile.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/core/process.hpp"
#include "results/exchange.hpp"
#include "results/lines_file.hpp"
#include "results/store.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Cluster : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    std::string family = kMiniFamily;
    family.replace(family.find("[1, 2]"), 6, "[1, 2], \"copy\": [1,2,3,4,5]");
    write("cases/mini.json", family);
  }
  void plan(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"plan", "--chunks", "3", "--db", "h.db"};
    words.insert(words.end(), more.begin(), more.end());
    const Call call = run(words);
    ASSERT_EQ(call.code, 0) << call.out << call.err;
  }
  [[nodiscard]] Call work(int chunk, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"work", "plan", std::to_string(chunk), "--jobs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] Call merge(const std::string& database = "merged.db") const {
    return run({"merge", "plan", "--db", database, "--json"});
  }
  [[nodiscard]] fs::path results_of(int chunk) const {
    return path("plan/results/0000" + std::to_string(chunk) + ".jsonl.gz");
  }

  /// The only run of a database without what says when and how long, and with its verdicts in the order of the plan.
  [[nodiscard]] results::Store::RecordedRun recorded(const std::string& database) const {
    core::Result<results::Store> store = results::Store::open(path(database));
    EXPECT_TRUE(store.ok());
    const auto runs = store->runs();
    EXPECT_EQ(runs->size(), 1U);
    results::Store::RecordedRun recorded = store->recorded(runs->front()).value();
    recorded.run.id = recorded.run.started_at = "";
    EXPECT_FALSE(recorded.run.finished_at.empty());
    recorded.run.finished_at = "";
    for (results::ResultRow& row : recorded.results) {
      row.seconds = 0;
      row.started_at = "";
      for (results::AttemptRow& attempt : row.attempts) attempt.seconds = 0;
    }
    return recorded;
  }
  /// All of it as text.
  [[nodiscard]] std::string text_of(const std::string& database) const {
    const fs::path copy = path(database + ".copy");
    fs::remove(copy);
    core::Result<results::Store> store = results::Store::open(copy);
    results::Store::RecordedRun run = recorded(database);
    run.run.id = "run";
    EXPECT_TRUE(store->merge({run}).ok());
    std::ostringstream text;
    EXPECT_TRUE(results::export_lines(*store, text).ok());
    return text.str();
  }
};

TEST_F(Cluster, GivesWhatOneProcessDoes) {
  EXPECT_EQ(run({"run", "--db", "single.db"}).code, 0);
  plan();
  for (const int chunk : {2, 3, 1}) {
    const Call call = work(chunk);
    EXPECT_EQ(call.code, 0) << call.out << call.err;
    EXPECT_THAT(call.out, HasSubstr("chunk " + std::to_string(chunk) + " of 3: "));
  }
  const Call call = merge();
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(call.json()["new_verdicts"], 10);
  EXPECT_EQ(text_of("merged.db"), text_of("single.db"));
}

TEST_F(Cluster, SaysWhatIsMissingUntilItIsThere) {
  plan();
  EXPECT_EQ(work(1).code, 0);
  EXPECT_EQ(work(3).code, 0);
  const Call call = run({"merge", "plan", "--db", "merged.db"});
  EXPECT_EQ(call.code, 5) << call.out << call.err;
  EXPECT_THAT(call.out, AllOf(HasSubstr("chunk 2 lacks 3 verdicts: no results file"), HasSubstr("missing chunks: 2\n"),
                              HasSubstr("work plan CHUNK, then merge again"), HasSubstr("7 of 10 verdicts")));
  EXPECT_EQ(work(2).code, 0);
  const Call whole = merge();
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  EXPECT_EQ(whole.json()["new_verdicts"], 3);
  EXPECT_TRUE(whole.json()["missing"].empty());
}

TEST_F(Cluster, CountsOnceWhatWasDoneTwice) {
  plan();
  for (const int chunk : {1, 2, 3}) EXPECT_EQ(work(chunk).code, 0);
  const auto written = fs::last_write_time(results_of(1));
  const Call again = work(1);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("chunk 1 of 3 is done: "));
  EXPECT_EQ(fs::last_write_time(results_of(1)), written) << "it is not done again";
  EXPECT_EQ(merge().code, 0);
  fs::remove(results_of(1));
  EXPECT_EQ(work(1).code, 0) << "nobody knows of the first time";
  const Call twice = merge();
  EXPECT_EQ(twice.code, 0) << twice.out << twice.err;
  EXPECT_EQ(twice.json()["new_verdicts"], 0);
  EXPECT_EQ(recorded("merged.db").results.size(), 10U);
}

TEST_F(Cluster, DoesADamagedChunkAgain) {
  plan();
  for (const int chunk : {1, 2, 3}) EXPECT_EQ(work(chunk).code, 0);
  fs::resize_file(results_of(2), fs::file_size(results_of(2)) / 2);
  const Call damaged = run({"merge", "plan", "--db", "merged.db"});
  EXPECT_EQ(damaged.code, 5) << damaged.out;
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("00002.jsonl.gz\" is damaged"), HasSubstr("missing chunks: 2\n")));
  const Call again = work(2);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("chunk 2 of 3 is done again: "));
  EXPECT_EQ(merge().code, 0);
}

TEST_F(Cluster, LeavesOutWhatIsAssaysOwnFaultUntilItIsDoneAgain) {
  plan();
  for (const int chunk : {1, 2, 3}) EXPECT_EQ(work(chunk).code, 0);
  {
    auto runs = results::read_lines_file(results_of(2));
    ASSERT_TRUE(runs.ok());
    results::ResultRow& row = runs->front().results.front();
    row.verdict = "harness-error";
    row.reason = "no room";
    core::Result<results::Store> store = results::Store::open(path("edited.db"));
    ASSERT_TRUE(store->merge(*runs).ok());
    ASSERT_TRUE(results::write_lines_file(*store, results_of(2)).ok());
  }
  const Call call = run({"merge", "plan", "--db", "merged.db"});
  EXPECT_EQ(call.code, 3) << call.out << call.err;
  EXPECT_THAT(call.out, AllOf(HasSubstr("chunk 2 lacks 1 verdict: Assay's own fault on mini/"), HasSubstr("no room")));
  const Call again = work(2);
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_THAT(again.err, HasSubstr("is done again: 1 verdict of chunk 2 is Assay's own fault"));
  const Call whole = merge();
  EXPECT_EQ(whole.code, 0) << whole.out;
  EXPECT_EQ(whole.json()["new_verdicts"], 1);
}

TEST_F(Cluster, TakesNoResultsOfAnotherPlan) {
  plan();
  plan({"--out", "other"});
  EXPECT_EQ(run({"work", "other", "1"}).code, 0);
  fs::copy_file(path("other/results/00001.jsonl.gz"), results_of(1));
  const Call call = run({"merge", "plan", "--db", "merged.db"});
  EXPECT_EQ(call.code, 5);
  EXPECT_THAT(call.out, HasSubstr("00001.jsonl.gz\" is of another plan"));
  EXPECT_THAT(work(1).err, HasSubstr("is done again: "));
}

TEST_F(Cluster, KilledInTheMiddleIsDoneByTheSameCommand) {
  write("slow.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\n"
        "while read line; do sleep 0.3; echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"no\"}'; id=$((id+1)); "
        "done\n");
  plan({"--converter-cmd", "sh " + path("slow.sh").string()});
  core::SpawnOptions options;
  options.arguments = {ASSAY_PROGRAM, "work", "plan", "1", "--jobs", "1"};
  options.working_folder = path("").string();
  options.environment = {{"ASSAY_HOME", path("").string()}};
  core::Process process = core::Process::spawn(options).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  process.kill_group();
  EXPECT_FALSE(fs::exists(results_of(1)));
  for (const int chunk : {1, 2, 3}) EXPECT_EQ(work(chunk).code, 0);
  const Call call = merge();
  EXPECT_EQ(call.code, 1) << "each refusal is red" << call.out;
  EXPECT_EQ(call.json()["verdicts"]["refused"], 10);
}

TEST_F(Cluster, KeepsNothingOfAChunkThatWasStopped) {
  write("slow.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\n"
        "while read line; do sleep 0.3; echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"no\"}'; id=$((id+1)); "
        "done\n");
  const Call planned = run({"plan", "--chunks", "1", "--converter-cmd", "sh " + path("slow.sh").string()});
  ASSERT_EQ(planned.code, 0) << planned.err;
  core::SpawnOptions options;
  options.arguments = {ASSAY_PROGRAM, "work", "plan", "1", "--jobs", "1"};
  options.working_folder = path("").string();
  options.environment = {{"ASSAY_HOME", path("").string()}};
  core::Process process = core::Process::spawn(options).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
  const auto end = process.wait(core::Process::Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 5) << process.stderr_tail();
  EXPECT_THAT(process.stderr_tail(),
              AllOf(HasSubstr("chunk 1 of 1: stopped by a signal after "), HasSubstr("the same command does it anew")));
  EXPECT_FALSE(fs::exists(results_of(1)));
}

TEST_F(Cluster, IsNoPlaceForOtherCases) {
  plan();
  std::string family = kMiniFamily;
  family.replace(family.find("[1, 2]"), 6, "[1, 2], \"copy\": [1,2,3,4,5]");
  family.replace(family.find("[-3, 2]"), 7, "[-3, 4]");
  write("cases/mini.json", family);
  const Call call = work(1);
  EXPECT_EQ(call.code, 2) << call.out << call.err;
  EXPECT_THAT(call.err, AllOf(HasSubstr("this is not what was planned"), HasSubstr("cases: recorded 10 with hash"),
                              HasSubstr("case mini/stride=1,copy=1 was edited"), HasSubstr("make a new plan")));
  EXPECT_FALSE(fs::exists(results_of(1)));
}

TEST_F(Cluster, IsNoPlaceForAnotherConverter) {
  write("c.sh", "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nread line\n");
  plan({"--converter-cmd", "sh " + path("c.sh").string()});
  write("c.sh", "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"2\"}'\nread line\n");
  const Call call = work(1);
  EXPECT_EQ(call.code, 2) << call.out << call.err;
  EXPECT_THAT(call.err, AllOf(HasSubstr("converter 1: planned c 1, "), HasSubstr(", now c 2, ")));
}

TEST_F(Cluster, IsNoPlaceForAnotherBuild) {
  plan();
  std::string text = core::read_file(path("plan/plan.jsonl")).value();
  const std::size_t at = text.find("build: ");
  ASSERT_NE(at, std::string::npos);
  write("plan/plan.jsonl", text.insert(at + 7, "0.0.1 "));
  const Call call = work(1);
  EXPECT_EQ(call.code, 2) << call.out << call.err;
  EXPECT_THAT(call.err, AllOf(HasSubstr("build: recorded 0.0.1 "), Not(HasSubstr("cases: "))));
}

TEST_F(Cluster, PlansTheLongestFirstFromHistory) {
  EXPECT_EQ(run({"run", "--db", "h.db"}).code, 0);
  {
    core::Result<results::Store> store = results::Store::open(path("h.db"));
    const auto durations = store->durations();
    ASSERT_TRUE(durations.ok());
    EXPECT_EQ(durations->size(), 10U);
    results::Store::RecordedRun slow = store->recorded(store->runs()->front()).value();
    slow.run.id = "slower";
    for (results::ResultRow& row : slow.results) row.seconds = row.key.case_name == "mini/stride=2,copy=4" ? 100 : 1;
    ASSERT_TRUE(store->merge({slow}).ok());
  }
  const Call call = run({"plan", "--chunks", "3", "--db", "h.db", "--json"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  const nlohmann::json chunks = call.json()["chunks"];
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0]["seconds"], 100);
  EXPECT_EQ(chunks[0]["verdicts"], 1);
  EXPECT_EQ(chunks[1]["seconds"].get<double>() + chunks[2]["seconds"].get<double>(), 9);
}

TEST_F(Cluster, GivesWhatNeedsAGpuOrALicenceChunksOfItsOwn) {
  fs::create_directories(path("licensed"));
  write("licensed/adapter.json", R"({"gpu": true, "workers": 2, "licence": "acme"})");
  write("licensed/c.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\n"
        "while read line; do echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"no\"}'; id=$((id+1)); done\n");
  const Call call = run({"plan", "--chunks", "5", "--db", "h.db", "--slurm", "--jobs", "4", "--converter", "embedded",
                         "--converter-cmd", "sh " + path("licensed/c.sh").string()});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("by c 1 (a GPU, at most 2 processes at a time, licence acme)"));
  const std::string plain = core::read_file(path("plan/slurm/array-1.sh")).value();
  EXPECT_THAT(plain, AllOf(HasSubstr("--array=1-3\n"), HasSubstr("--cpus-per-task=4"), HasSubstr("--requeue"),
                           Not(HasSubstr("gres")), Not(HasSubstr("licenses"))));
  const std::string licensed = core::read_file(path("plan/slurm/array-2.sh")).value();
  EXPECT_THAT(licensed, AllOf(HasSubstr("--array=4-5%1\n"), HasSubstr("--cpus-per-task=2"), HasSubstr("--gres=gpu:1"),
                              HasSubstr("--licenses=acme:2")));
  EXPECT_THAT(core::read_file(path("plan/slurm/submit.sh")).value(), HasSubstr("after=afterany"));
  for (int chunk = 1; chunk <= 5; ++chunk) EXPECT_EQ(work(chunk).code, 0);
  EXPECT_EQ(merge().json()["recorded"], 20);
}

TEST_F(Cluster, RefusesDemandsThatMeanNothing) {
  fs::create_directories(path("bad"));
  write("bad/adapter.json", R"({"workers": 0})");
  write("bad/c.sh", "read line\n");
  const Call none = run({"plan", "--chunks", "2", "--converter-cmd", "sh " + path("bad/c.sh").string()});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("\"workers\" is 0, not a number from 1 on"));
  write("bad/adapter.json", R"({"licence": "a b; rm"})");
  const Call odd = run({"plan", "--chunks", "2", "--converter-cmd", "sh " + path("bad/c.sh").string()});
  EXPECT_EQ(odd.code, 2);
  EXPECT_THAT(odd.err, HasSubstr("\"licence\" is \"a b; rm\", not a name of letters"));
}

TEST_F(Cluster, RefusesWhatIsNoPlan) {
  EXPECT_THAT(run({"work", "nowhere", "1"}).err, HasSubstr("there is no plan \"nowhere/plan.jsonl\""));
  EXPECT_EQ(run({"merge", "nowhere"}).code, 2);
  plan();
  EXPECT_THAT(run({"plan", "--chunks", "2"}).err, HasSubstr("exists already"));
  EXPECT_THAT(run({"plan", "--chunks", "2", "--out", "packed", "--slurm", "--pack", "nowhere"}).err,
              HasSubstr("--pack \"nowhere\" is no pack"));
  EXPECT_FALSE(fs::exists(path("packed"))) << "nothing is left that the next try would stumble over";
  EXPECT_THAT(work(9).err, HasSubstr("there is no chunk 9: the plan has 1 to 3"));
  EXPECT_THAT(run({"work", "plan", "one"}).err, HasSubstr("CHUNK is a number from 1 on, not \"one\""));
}

TEST_F(Cluster, HoldsTheWholeToItsExpectedFailures) {
  write("suites/default.json", R"({"title": "all", "select": ["*"], "converters": ["embedded"],
    "option_sets": [{"label": "default", "options": {}}],
    "expected_failures": [{"case": "mini/stride=1,copy=1", "converter": "embedded", "stage": "artifact", "facet": "scale",
                           "reason": "never", "url": "https://example.org"}]})");
  plan();
  for (const int chunk : {1, 2, 3}) EXPECT_EQ(work(chunk).code, 0);
  const Call call = merge();
  EXPECT_EQ(call.code, run({"run", "--db", "single.db"}).code) << call.out;
  EXPECT_EQ(call.json()["verdicts"]["xpass"], 1) << call.out;
}

TEST_F(Cluster, ShardsHaveTheLimitsOfTheWhole) {
  using Figures = std::vector<std::tuple<std::string, std::string, std::string, double>>;
  const auto figures = [this](const std::string& database) {
    std::map<std::string, Figures> of_case;
    for (const results::ResultRow& row : recorded(database).results) {
      for (const results::MetricRow& metric : row.metrics) {
        of_case[row.key.case_name].emplace_back(metric.tensor, metric.data_set, metric.name, metric.value);
      }
    }
    return of_case;
  };
  EXPECT_EQ(run({"run", "--db", "single.db"}).code, 0);
  EXPECT_EQ(run({"run", "--db", "shard.db", "--shard", "2/3"}).code, 0);
  EXPECT_EQ(run({"run", "--db", "alone.db", "mini/stride=1,copy=2"}).code, 0);
  auto whole = figures("single.db"), shard = figures("shard.db"), alone = figures("alone.db");
  ASSERT_EQ(shard.size(), 3U);
  for (const auto& [name, own] : shard) EXPECT_EQ(own, whole[name]) << name;
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_NE(alone.begin()->second, whole[alone.begin()->first]) << "a run of fewer verdicts has other limits";
}

}  // namespace
}  // namespace assay::test
