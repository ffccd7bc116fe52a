// A run that was stopped is gone on with as what it was, by one process at a time; and a database that goes away while
// a run writes to it is noticed.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "harness/core/process.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Resume : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    std::string family = kMiniFamily;
    family.replace(family.find("[1, 2]"), 6, "[1, 2], \"copy\": [1,2,3,4,5,6,7,8,9,10]");
    write("cases/mini.json", family);
    write_converter("no");
  }
  /// A converter that takes its time and refuses with `reason`.
  void write_converter(const std::string& reason) const {
    write("slow.sh",
          "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nid=2\n"
          "while read line; do sleep 0.2; echo '{\"id\":'$id',\"status\":\"refused\",\"reason\":\"" +
              reason + "\"}'; id=$((id+1)); done\n");
  }
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"run",    "--db", "h.db",  "--converter-cmd", "sh " + path("slow.sh").string(),
                                   "--jobs", "2",    "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// The run under way, with the first verdicts in the database.
  [[nodiscard]] core::Process started(const std::vector<std::string>& more = {}) const {
    core::SpawnOptions options;
    options.arguments = {ASSAY_PROGRAM};
    for (const std::string& word : command(more)) options.arguments.push_back(word);
    options.working_folder = path("").string();
    options.environment = {{"ASSAY_HOME", path("").string()}};
    core::Process process = core::Process::spawn(options).value();
    for (int look = 0; look < 300 && recorded() == 0; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_GT(recorded(), 0U);
    return process;
  }
  [[nodiscard]] std::size_t recorded() const {
    const Call history = run({"history", "*", "--db", "h.db", "--json"});
    return history.code == 0 ? history.json()["history"].size() : 0;
  }
  void leave_unfinished(const std::vector<std::string>& more = {}) const { started(more).kill_group(); }
  [[nodiscard]] Call resume(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = command(more);
    words.emplace_back("--resume");
    return run(words);
  }
};

TEST_F(Resume, IsRefusedWhileTheRunIsAlive) {
  core::Process alive = started();
  const Call second = resume();
  EXPECT_EQ(second.code, 2) << second.out << second.err;
  EXPECT_THAT(second.err, AllOf(HasSubstr("is under way"), HasSubstr("process " + std::to_string(alive.pid()))));

  const auto deadline = core::Process::Clock::now() + std::chrono::minutes(1);
  const nlohmann::json first = nlohmann::json::parse(alive.read_line(deadline).text, nullptr, false);
  ASSERT_TRUE(first.is_object()) << alive.stderr_tail();
  EXPECT_EQ(first["verdicts"]["refused"], 20) << "none is a crash because somebody wanted to take over";
}

TEST_F(Resume, GoesOnWithTheSameCommandOnly) {
  leave_unfinished();
  const Call slower = resume({"--timeout", "30"});
  EXPECT_EQ(slower.code, 2) << slower.out << slower.err;
  EXPECT_THAT(slower.err, AllOf(HasSubstr("begun with something else"), HasSubstr("timeout_s: recorded 60, now 30")));
  const Call more = resume({"--metamorphic"});
  EXPECT_EQ(more.code, 2) << more.out << more.err;
  EXPECT_THAT(more.err, AllOf(HasSubstr("cases: recorded 20 with hash"), Not(HasSubstr("timeout_s"))));
  EXPECT_EQ(resume().json()["results"].size(), 20U);
}

TEST_F(Resume, ComparesWhatChangesVerdictsWithoutChangingCases) {
  leave_unfinished();
  const Call stricter = resume({"--require-judged"});
  EXPECT_EQ(stricter.code, 2) << stricter.out << stricter.err;
  EXPECT_THAT(stricter.err, AllOf(HasSubstr("require judged: recorded of the embedded converter, now of every"),
                                  Not(HasSubstr("cases: "))));
  const Call partial = resume({"--options", "default"});
  EXPECT_EQ(partial.code, 2) << partial.out << partial.err;
  EXPECT_THAT(partial.err, HasSubstr("every option set: recorded yes, now no"));
}

TEST_F(Resume, IsNoPlaceForAnotherConverter) {
  leave_unfinished();
  write_converter("no longer");
  const Call changed = resume();
  EXPECT_EQ(changed.code, 2) << changed.out << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("converter 1: recorded c 1, "));
  write_converter("no");
  const Call another = resume({"--converter", "embedded"});
  EXPECT_EQ(another.code, 2) << another.out << another.err;
  EXPECT_THAT(another.err, HasSubstr("converter 2: recorded nothing, now c 1"));
}

TEST_F(Resume, IsNoPlaceForAFault) {
  leave_unfinished({"--converter", "embedded"});
  const Call faulty = resume({"--converter", "embedded", "--fault", "bias_dropped"});
  EXPECT_EQ(faulty.code, 2) << faulty.out << faulty.err;
  EXPECT_THAT(faulty.err, HasSubstr("worker --fault bias_dropped"));
}

TEST_F(Resume, OfANewRunIsANewRun) {
  const Call call = run({"run", "--db", "h.db", "--resume"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
}

TEST_F(Resume, FindsNothingLeftOfADatabaseThatIsGone) {
  core::Process alive = started();
  for (const char* file : {"h.db", "h.db-wal", "h.db-shm"}) std::filesystem::remove(path(file));
  const auto end = alive.wait(core::Process::Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 3);
  EXPECT_THAT(alive.stderr_tail(), AllOf(HasSubstr("h.db was removed or replaced"), HasSubstr("run it again")));
}

}  // namespace
}  // namespace assay::test
