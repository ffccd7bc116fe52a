// A run survives what converters do to it, and a killed run is finished later.
#include <gmock/gmock.h>

#include <signal.h>

#include <algorithm>
#include <set>
#include <thread>

#include "harness/core/files.hpp"
#include "harness/core/process.hpp"
#include "results/store.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Run : public HomeTest {
 protected:
  /// A converter in shell: describes itself, then does `body` for the next request.
  [[nodiscard]] std::string converter(const std::string& body) const {
    write("converter.sh",
          "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nread line\n" + body + "\n");
    return "sh " + path("converter.sh").string();
  }
  [[nodiscard]] nlohmann::json verdict_of(const std::string& body, const std::string& timeout = "20") const {
    const Call call = run({"run", "mini/stride=1", "--converter-cmd", converter(body), "--timeout", timeout, "--json"});
    EXPECT_EQ(call.code, 1) << call.out << call.err;
    const nlohmann::json json = call.json();
    return json.is_object() && !json["results"].empty() ? json["results"][0] : nlohmann::json::object();
  }
};

/// One case whose tensors are large, through the embedded converter.
class Memory : public HomeTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a limit of the address space doesn't go with the address sanitizer";
#endif
    HomeTest::SetUp();
    write("cases/mini.json", R"json({
      "family": "mini", "title": "large tensors", "tags": ["Relu"],
      "graph": ["agraph (float[1,1,1000,1000] x) => (float[1,1,1000,1000] y) { y = Relu (x) }"], "opset": 13,
      "inputs": { "x": { "data": ["typical"], "range": [-3, 2] } } })json");
  }
};

TEST_F(Memory, ThatRunsOutIsOomWhereverItDoes) {
  std::set<std::string> verdicts;
  for (const char* gib : {"0.04", "0.05", "0.06", "0.08", "0.12", "0.2", "2"}) {
    const nlohmann::json report = run({"run", "--memory", gib, "--json"}).json();
    ASSERT_TRUE(report.is_object()) << gib;
    const nlohmann::json& result = report["results"][0];
    verdicts.insert(result["verdict"]);
    EXPECT_THAT(result["verdict"].get<std::string>(), testing::AnyOf("oom", "pass"))
        << "with " << gib << " GiB: " << result["reason"];
  }
  EXPECT_THAT(verdicts, testing::UnorderedElementsAre("oom", "pass"));
}

TEST_F(Run, RecordsASignalAsCrash) {
  const nlohmann::json result = verdict_of("kill -SEGV $$");
  EXPECT_EQ(result["verdict"], "crash");
  EXPECT_THAT(result["reason"].get<std::string>(), HasSubstr("SIGSEGV"));
}

TEST_F(Run, RecordsAHangAsTimeout) { EXPECT_EQ(verdict_of("sleep 60", "1")["verdict"], "timeout"); }

TEST_F(Run, RecordsGarbageAsTheConvertersCrash) {
  const nlohmann::json result = verdict_of("echo 'Loading weights… 100%'; read line");
  EXPECT_EQ(result["verdict"], "crash");
  EXPECT_THAT(result["reason"].get<std::string>(), HasSubstr("protocol:"));
}

TEST_F(Run, CallsARefusalWithoutANodeRefused) {
  const nlohmann::json result = verdict_of("echo '{\"id\":2,\"status\":\"refused\",\"reason\":\"no\"}'; read line");
  EXPECT_EQ(result["verdict"], "refused");
  EXPECT_EQ(result["gate"], "red");
}

TEST_F(Run, FailsAnErrorWhereConversionIsDue) {
  const nlohmann::json result =
      verdict_of("echo '{\"id\":2,\"status\":\"error\",\"reason\":\"_Map_base::at\"}'; read line");
  EXPECT_EQ(result["verdict"], "fail");
  EXPECT_EQ(result["stage"], "convert");
}

/// Every way of ending without an artifact, and whether its words tell the user where and why: the model's one node is
/// "y", a Conv.
TEST_F(Run, AsksOfEveryRefusalAndErrorForNodeOperatorAndReason) {
  struct Reply {
    std::string status, words;
    bool complete;
  };
  const std::vector<Reply> replies{
      {"error", R"("reason":"_Map_base::at")", false},
      {"error", R"("reason":"")", false},
      {"error", R"("node":"y","op":"Conv","reason":"_Map_base::at")", true},
      {"error", R"("reason":"no scale for tensor y: run calibration")", true},
      {"refused", R"("reason":"no")", false},
      {"refused", R"("node":"y","reason":"no")", false},
      {"refused", R"("node":"n7","op":"Conv","reason":"no INT8 form")", false},
      {"refused", R"("node":"y","op":"CumSum","reason":"no INT8 form")", false},
      {"refused", R"("node":"y","op":"Conv","reason":"no INT8 form")", true},
  };
  for (const Reply& reply : replies) {
    const nlohmann::json result =
        verdict_of("echo '{\"id\":2,\"status\":\"" + reply.status + "\"," + reply.words + "}'; read line");
    EXPECT_EQ(result["verdict"], reply.status == "refused" ? "refused" : "fail") << reply.words;
    EXPECT_EQ(result["facet"], "status") << reply.words;
    const bool found = std::ranges::any_of(
        result["findings"], [](const nlohmann::json& finding) { return finding["facet"] == "diagnostics"; });
    EXPECT_EQ(found, !reply.complete) << reply.words;
  }
}

TEST_F(Run, GoesOnAfterACrash) {
  write("once.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nread line\nkill -KILL $$\n");
  const Call call = run({"run", "--converter-cmd", "sh " + path("once.sh").string(), "--json"});
  EXPECT_EQ(call.json()["verdicts"]["crash"], 2) << call.out << call.err;
}

TEST_F(Run, AsksTheProcessThatDescribedItself) {
  write("counts.sh",
        "echo started >> " + path("starts").string() +
            "\nread line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\n"
            "while read line; do echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"no\"}'; id=$((id+1)); done\n");
  const Call call =
      run({"run", "--converter-cmd", "sh " + path("counts.sh").string(), "--no-sandbox", "--jobs", "1", "--json"});
  EXPECT_EQ(call.json()["verdicts"]["refused"], 2) << call.out << call.err;
  EXPECT_EQ(core::read_file(path("starts")).value(), "started\n");
}

TEST_F(Run, CannotTakeOutOfACacheWhatIsNotInIt) {
  write("cases/gap.json", R"json({
    "family": "gap", "title": "a cache that has lost an entry", "tags": ["Conv"], "matrix": { "lost": ["x", "w"] },
    "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) { y = Conv <kernel_shape=[3,2]> (x, w) }"],
    "initializers": { "w": { "shape": [5, 3, 3, 2] } }, "inputs": { "x": { "range": [-3, 2] } },
    "steps": [ { "do": "convert" }, { "do": "convert", "cache": "previous", "forget": ["$lost"] } ],
    "expect": { "status": "either", "refused": { "reason": "tensor \"$lost\"" } } })json");
  const Call call = run({"run", "gap", "--options", "default"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("no entry named \"w\" that could be taken out (1 verdict)"));
  EXPECT_THAT(call.out, HasSubstr("1 pass"));
}

TEST_F(Run, KeepsEveryVerdictInTheDatabase) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  ASSERT_EQ(run({"run", "--db", "h.db", "--fault", "bias_dropped"}).code, 1);
  const Call history = run({"history", "mini/stride=2", "--db", "h.db", "--json"});
  ASSERT_EQ(history.code, 0) << history.err;
  const nlohmann::json rows = history.json()["history"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["verdict"], "pass");
  EXPECT_EQ(rows[1]["verdict"], "fail");
}

TEST_F(Run, IsFinishedAfterAKillAtAnyMoment) {
  // Many cases, so that kills land in the middle.
  std::string family = kMiniFamily;
  family.replace(family.find("[1, 2]"), 6, "[1, 2], \"copy\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]");
  write("cases/mini.json", family);
  std::size_t killed = 0;
  for (const int delay_ms : {60, 120, 200, 300}) {
    core::SpawnOptions options;
    options.arguments = {ASSAY_PROGRAM, "run", "--db", "killed.db", "--resume", "--jobs", "2"};
    options.working_folder = path("").string();
    options.environment = {{"ASSAY_HOME", path("").string()}};
    core::Result<core::Process> process = core::Process::spawn(options);
    ASSERT_TRUE(process.ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    killed += process->kill_group().signal ? 1U : 0U;
  }
  EXPECT_GT(killed, 0U);
  const Call call = run({"run", "--db", "killed.db", "--resume", "--json"});
  const nlohmann::json json = call.json();
  ASSERT_TRUE(json.is_object()) << call.out << call.err;
  EXPECT_EQ(json["planned"], 30);
  EXPECT_EQ(json["results"].size(), 30U);
  for (const auto& [verdict, count] : json["verdicts"].items()) {
    EXPECT_TRUE(verdict == "pass" || verdict == "crash") << verdict;
  }
  core::Result<results::Store> store = results::Store::open(path("killed.db"));
  ASSERT_TRUE(store.ok()) << store.error().message;
}

TEST_F(Run, FinishesWhatIsUnderWayWhenAskedToEnd) {
  std::string family = kMiniFamily;
  family.replace(family.find("[1, 2]"), 6, "[1, 2], \"copy\": [1,2,3,4,5,6,7,8,9,10]");
  write("cases/mini.json", family);
  write("slow.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\n"
        "while read line; do sleep 0.15; echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"no\"}'; "
        "id=$((id+1)); done\n");
  const std::vector<std::string> command{
      "run", "--db", "ended.db", "--converter-cmd", "sh " + path("slow.sh").string(), "--jobs", "2", "--json"};
  core::SpawnOptions options;
  options.arguments = {"timeout", "--preserve-status", "-s", "TERM", "0.6", ASSAY_PROGRAM};
  options.arguments.insert(options.arguments.end(), command.begin(), command.end());
  options.working_folder = path("").string();
  options.environment = {{"ASSAY_HOME", path("").string()}};
  const Call ended = finished(options);
  EXPECT_EQ(ended.code, 5) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--resume"));
  EXPECT_LT(ended.json()["results"].size(), 20U);

  std::vector<std::string> again = command;
  again.emplace_back("--resume");
  const Call rest = run(again);
  EXPECT_EQ(rest.json()["verdicts"]["refused"], 20) << rest.out << rest.err;
}

}  // namespace
}  // namespace assay::test
