// What crashes, hangs or fills the process that judges costs one verdict, and nothing outlives a run that is killed.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "harness/core/files.hpp"
#include "harness/core/process.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using core::Process;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Twelve cases and a victim, which a converter knows by the name of its model's input.
class Lanes : public HomeTest {
 protected:
  static constexpr std::size_t kNeighbours = 12;

  void SetUp() override {
    HomeTest::SetUp();
    std::string family = kMiniFamily;
    family.replace(family.find("[1, 2]"), 6, "[1, 2], \"copy\": [1,2,3,4,5,6]");
    write("cases/mini.json", family);
    std::filesystem::create_directories(path("tmp"));
  }
  void write_victim() const {
    write("cases/nasty.json", R"json({
      "family": "nasty", "title": "a small Conv",
      "graph": ["agraph (float[1,3,5,5] victim) => (float[N,2,H,W] y) {",
                "  y = Conv <kernel_shape=[1,1]> (victim, w)", "}"],
      "initializers": { "w": { "shape": [2, 3, 1, 1], "data": "normal" } },
      "inputs": { "victim": { "data": ["typical"], "range": [-3, 2] } } })json");
  }
  /// A case whose judging takes seconds and a hundred megabytes.
  void write_heavy_victim() const {
    write("cases/nasty.json", R"json({
      "family": "nasty", "title": "a large Conv",
      "graph": ["agraph (float[1,96,96,96] victim) => (float[N,96,H,W] y) {",
                "  y = Conv <kernel_shape=[5,5]> (victim, w)", "}"],
      "initializers": { "w": { "shape": [96, 96, 5, 5], "data": "normal" } },
      "inputs": { "victim": { "data": ["typical", "saturate"], "range": [-3, 2] } } })json");
  }
  /// A converter that refuses everything, and does `nasty` (a shell's words) before it refuses the victim. Its
  /// parent is its supervisor, whose parent is the lane.
  void write_converter(const std::string& nasty) const {
    write("adapter.sh",
          "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\ncd " +
              path("").string() + "\nwhile read line; do\n" +
              "  model=$(echo \"$line\" | sed -n 's/.*\"model\":\"\\([^\"]*\\)\".*/\\1/p')\n" +
              "  if grep -q victim \"$model\"; then " + nasty + "; fi\n" +
              "  sleep 0.02; echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"no\"}'; id=$((id+1))\ndone\n");
  }
  [[nodiscard]] Process start(const std::vector<std::string>& more = {}) const {
    core::SpawnOptions options;
    options.arguments = {ASSAY_PROGRAM, "run", "--db", "h.db", "--jobs", "2", "--json", "--no-sandbox"};
    if (std::filesystem::exists(path("adapter.sh"))) {
      options.arguments.insert(options.arguments.end(), {"--converter-cmd", "sh " + path("adapter.sh").string()});
    }
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.working_folder = path("").string();
    options.environment = {{"ASSAY_HOME", path("").string()}, {"TMPDIR", path("tmp").string()}};
    return Process::spawn(options).value();
  }
  /// Its report, which has a verdict on each case.
  [[nodiscard]] static nlohmann::json finished_report(Process& run) {
    const auto line = run.read_line(Process::Clock::now() + std::chrono::minutes(3));
    nlohmann::json report = nlohmann::json::parse(line.text, nullptr, false);
    EXPECT_TRUE(report.is_object()) << run.stderr_tail();
    if (!report.is_object()) return nlohmann::json::object();
    EXPECT_EQ(report["planned"], kNeighbours + 1);
    EXPECT_THAT(report["results"], SizeIs(kNeighbours + 1));
    return report;
  }
  [[nodiscard]] static nlohmann::json victim(const nlohmann::json& report) {
    for (const nlohmann::json& result : report.value("results", nlohmann::json::array())) {
      if (result["case"] == "nasty") return result;
    }
    ADD_FAILURE() << "no verdict on the victim";
    return nlohmann::json::object();
  }
  /// Runs a heavy victim among its neighbours: it has `verdict`, at stage judge, and they all pass.
  /// A run whose converter hangs ends after so many terminations, with `code` where one is given; nothing of it stays,
  /// and it can be resumed.
  void expect_end_after(int terminations, std::optional<int> code) {
    write_victim();
    write_converter(kHang);
    Process run = start({"--timeout", "300"});
    ASSERT_TRUE(soon([&] { return noted().size() == 3; }));
    const auto asked = Process::Clock::now();
    for (int i = 0; i < terminations; ++i) ::kill(run.pid(), SIGTERM);
    const auto end = run.wait(asked + std::chrono::seconds(20));
    const std::chrono::duration<double> took = Process::Clock::now() - asked;
    ASSERT_TRUE(end.has_value());
    if (code) {
      EXPECT_EQ(end->code, code) << run.stderr_tail();
    }
    EXPECT_LT(took.count(), 3) << "a second or at once, on a machine with other work";
    EXPECT_TRUE(soon([&] { return none_runs(); }));
    EXPECT_THAT(temporary_folders(), IsEmpty());

    write("released", "");
    Process next = start({"--timeout", "300", "--resume"});
    EXPECT_EQ(finished_report(next)["verdicts"]["refused"], kNeighbours + 1);
  }
  void expect_heavy_victim(const std::vector<std::string>& limits, const std::string& verdict,
                           const std::string& words) const {
    write_heavy_victim();
    Process run = start(limits);
    const nlohmann::json report = finished_report(run);
    EXPECT_EQ(report["verdicts"]["pass"], kNeighbours) << report["verdicts"];
    const nlohmann::json row = victim(report);
    EXPECT_EQ(row["verdict"], verdict);
    EXPECT_EQ(row["stage"], "judge");
    EXPECT_THAT(row["reason"].get<std::string>(), testing::HasSubstr(words));
  }
  [[nodiscard]] static bool soon(const std::function<bool()>& holds) {
    constexpr int kLooks = 400;
    for (int look = 0; look < kLooks; ++look) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
  }
  /// The processes that a converter wrote down, where it was asked for the victim.
  [[nodiscard]] std::vector<int> noted() const {
    std::ifstream file(path("pids"));
    return {std::istream_iterator<int>(file), {}};
  }
  [[nodiscard]] static bool runs(int pid) {
    std::string line;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> std::ws, line);
    return !line.empty() && line.find(") Z ") == std::string::npos;
  }
  [[nodiscard]] bool none_runs() const {
    const std::vector<int> pids = noted();
    return std::ranges::none_of(pids, [](int pid) { return runs(pid); });
  }
  [[nodiscard]] std::vector<std::string> temporary_folders() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path("tmp"))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  /// Hangs with a child of its own, both noted with the lane, unless it was released.
  static constexpr const char* kHang =
      "[ -f released ] || { sleep 600 & echo $$ $! $(cut -d' ' -f4 /proc/$PPID/stat) >pids; wait; }";
};

TEST_F(Lanes, ACrashIsTheVerdictOfWhatCausesItTwice) {
  write_victim();
  write_converter("kill -SEGV $(cut -d' ' -f4 /proc/$PPID/stat); sleep 5");
  Process run = start();
  const nlohmann::json report = finished_report(run);
  EXPECT_EQ(report["verdicts"]["refused"], kNeighbours) << report["verdicts"];
  const nlohmann::json row = victim(report);
  EXPECT_EQ(row["verdict"], "crash");
  EXPECT_EQ(row["stage"], "judge");
  EXPECT_THAT(row["reason"].get<std::string>(),
              AllOf(HasSubstr("signal 11 (SIGSEGV), twice"), HasSubstr("nothing is said of the converter")));
}

TEST_F(Lanes, ALaneThatIsKilledOnceCostsNothing) {
  write_victim();
  write_converter("[ -f dead ] || { touch dead; kill -KILL $(cut -d' ' -f4 /proc/$PPID/stat); sleep 5; }");
  Process run = start();
  const nlohmann::json report = finished_report(run);
  EXPECT_EQ(report["verdicts"]["refused"], kNeighbours + 1) << report["verdicts"];
  EXPECT_TRUE(std::filesystem::exists(path("dead")));
}

TEST_F(Lanes, ADescriptionThatKillsTheLaneEndsTheRun) {
  write("adapter.sh",
        "echo x >>" + path("starts").string() + "; kill -SEGV $(cut -d' ' -f4 /proc/$PPID/stat); sleep 5\n");
  Process run = start();
  const auto end = run.wait(Process::Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 3);
  EXPECT_THAT(run.stderr_tail(), HasSubstr("3 times in a row, the last time with signal 11 (SIGSEGV)"));
}

TEST_F(Lanes, ALaneThatIsStoppedGoesOn) {
  write_victim();
  write_converter("kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat)");
  Process run = start();
  EXPECT_EQ(finished_report(run)["verdicts"]["refused"], kNeighbours + 1);
}

TEST_F(Lanes, JudgingHasALimitOfTime) {
  expect_heavy_victim({"--judge-timeout", "1"}, "timeout", "within 1 s (--judge-timeout)");
  EXPECT_THAT(temporary_folders(), IsEmpty());
}

TEST_F(Lanes, JudgingHasALimitOfMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the memory of the address sanitizer counts, so that the neighbours are oom too";
#endif
  expect_heavy_victim({"--judge-memory", "0.1"}, "oom", "more than 0.1 GiB of memory (--judge-memory)");
}

TEST_F(Lanes, ACrashOfACommandWithoutLanesIsSaid) {
  write_victim();
  write_converter("kill -SEGV $(cut -d' ' -f4 /proc/$PPID/stat); sleep 5");
  const Call call =
      this->run({"explain", "nasty", "--converter-cmd", "sh " + path("adapter.sh").string(), "--no-sandbox"},
                {{"TMPDIR", path("tmp").string()}});
  EXPECT_EQ(call.code, 3) << call.out;
  EXPECT_THAT(call.err, AllOf(HasSubstr("ended with signal 11 (SIGSEGV)"), HasSubstr("nothing is said of the model")));
  EXPECT_THAT(temporary_folders(), IsEmpty());
}

TEST_F(Lanes, NothingOutlivesARunThatIsKilled) {
  write_victim();
  write_converter(kHang);
  Process run = start({"--timeout", "300"});
  ASSERT_TRUE(soon([&] { return noted().size() == 3; }));
  for (const int pid : noted()) EXPECT_TRUE(runs(pid));
  ::kill(run.pid(), SIGKILL);
  EXPECT_TRUE(soon([&] { return none_runs(); })) << "the converter, its child or the lane";
  EXPECT_THAT(temporary_folders(), Not(IsEmpty()));

  write("released", "");
  Process next = start({"--timeout", "300", "--resume"});
  EXPECT_EQ(finished_report(next)["verdicts"]["refused"], kNeighbours + 1) << "what was begun is begun anew";
  (void)next.wait(Process::Clock::now() + std::chrono::minutes(1));
  EXPECT_THAT(temporary_folders(), IsEmpty()) << "swept";
}

TEST_F(Lanes, ADaemonOfAConverterEndsWithTheRun) {
  write_victim();
  write_converter(
      "setsid sh -c 'echo $$ >pids; exec sleep 600' >/dev/null 2>&1 </dev/null & while [ ! -s pids ]; do sleep 0.01; "
      "done");
  Process run = start();
  EXPECT_EQ(finished_report(run)["verdicts"]["refused"], kNeighbours + 1);
  EXPECT_THAT(noted(), SizeIs(1));
  (void)run.wait(Process::Clock::now() + std::chrono::minutes(1));
  EXPECT_TRUE(soon([&] { return none_runs(); }));
}

TEST_F(Lanes, TheConvertersOfAKilledLaneGoWithIt) {
  write_victim();
  write_converter(kHang);
  Process run = start({"--timeout", "300"});
  ASSERT_TRUE(soon([&] { return noted().size() == 3; }));
  const std::vector<int> before = noted();
  write("released", "");
  ::kill(before.back(), SIGKILL);
  EXPECT_EQ(finished_report(run)["verdicts"]["refused"], kNeighbours + 1);
  EXPECT_TRUE(soon([&] { return none_runs(); }));
}

TEST_F(Lanes, ATerminationEndsARunWithinASecond) { expect_end_after(1, 5); }

TEST_F(Lanes, TwoTerminationsEndARunAtOnce) { expect_end_after(2, std::nullopt); }

}  // namespace
}  // namespace assay::test
