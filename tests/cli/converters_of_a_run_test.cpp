// Converters of one run: each is told apart, none harms another, and who stands behind a name is recorded.
#include <gmock/gmock.h>

#include "harness/core/files.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConvertersOfARun : public HomeTest {
 protected:
  static std::string faulty() { return std::string(ASSAY_PROGRAM) + " worker --fault bias_dropped"; }
  /// The embedded converter behind a shell that does something to each request first, in $line.
  [[nodiscard]] std::string embedded_behind(const std::string& deed) const {
    write("behind.sh", "while read -r line; do\n" + deed + "\necho \"$line\"\ndone | " + ASSAY_PROGRAM + " worker\n");
    return "sh " + path("behind.sh").string();
  }
  static nlohmann::json verdicts_by_hash(const nlohmann::json& report) {
    nlohmann::json verdicts;
    for (const nlohmann::json& result : report["results"]) {
      verdicts[result["converter_hash"].get<std::string>()].push_back(result["verdict"]);
    }
    return verdicts;
  }
};

TEST_F(ConvertersOfARun, AreAllJudgedThoughTheyCallThemselvesTheSame) {
  const Call call = run({"run", "--converter", "embedded", "--converter-cmd", faulty(), "--db", "h.db"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("4 planned: 2 fail, 2 pass"));
  EXPECT_THAT(call.out, HasSubstr("is several programs here; program "));
  EXPECT_THAT(call.out, HasSubstr("/assay run mini/stride=1 --options default --converter-cmd '" + faulty() + "'"));
  const Call json = run({"run", "--converter", "embedded", "--converter-cmd", faulty(), "--json"});
  EXPECT_EQ(verdicts_by_hash(json.json()).size(), 2U) << json.out;
}

TEST_F(ConvertersOfARun, AreNamedOnce) {
  for (const std::vector<std::string>& twice :
       {std::vector<std::string>{"--converter", "embedded", "--converter", "embedded"},
        {"--converter-cmd", faulty(), "--converter-cmd", faulty()},
        {"--converter", "embedded", "--converter-cmd", std::string(ASSAY_PROGRAM) + " worker"}}) {
    std::vector<std::string> words{"run"};
    words.insert(words.end(), twice.begin(), twice.end());
    const Call call = run(words);
    EXPECT_EQ(call.code, 2) << call.out << call.err;
    EXPECT_THAT(call.err, AllOf(HasSubstr("is named twice"), HasSubstr("name each once")));
  }
}

TEST_F(ConvertersOfARun, AreOneWhenTheirFilesHaveTheSameContent) {
  write("one.sh", std::string("exec ") + ASSAY_PROGRAM + " worker\n");
  std::filesystem::copy_file(path("one.sh"), path("two.sh"));
  const std::string one = "sh " + path("one.sh").string(), two = "sh " + path("two.sh").string();
  const Call call = run({"run", "--converter-cmd", one, "--converter-cmd", two});
  EXPECT_EQ(call.code, 2) << call.out << call.err;
  EXPECT_THAT(call.err, AllOf(HasSubstr("programs of the same content"), HasSubstr(one), HasSubstr(two)));
}

TEST_F(ConvertersOfARun, HaveOneAnchorForTheSeriesThatTheyShare) {
  ASSERT_EQ(run({"run", "--converter", "embedded", "--converter-cmd", faulty(), "--db", "h.db"}).code, 1);
  const Call both = run({"accept", "--reason", "r", "--db", "h.db"});
  EXPECT_EQ(both.code, 2) << both.out << both.err;
  EXPECT_THAT(both.err, AllOf(HasSubstr("two verdicts of mini/stride="), HasSubstr("a series has one anchor")));
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  EXPECT_EQ(run({"accept", "--reason", "r", "--db", "h.db"}).code, 0);
}

TEST_F(ConvertersOfARun, AreSaidToBeSeveralInAReport) {
  ASSERT_EQ(run({"run", "--converter", "embedded", "--converter-cmd", faulty(), "--db", "h.db"}).code, 1);
  const std::vector<std::string> report{"report", "--converter", "embedded", "--db", "h.db"};
  EXPECT_THAT(run(report).out, HasSubstr("was 2 programs ("));
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  EXPECT_THAT(run(report).out, Not(HasSubstr("programs")));
}

TEST_F(ConvertersOfARun, AreShownWhenAnotherProgramTakesTheirName) {
  const Call first = run({"run", "--db", "h.db"});
  EXPECT_THAT(first.out, Not(HasSubstr("another program")));
  EXPECT_THAT(run({"run", "--db", "h.db"}).out, Not(HasSubstr("another program")));
  EXPECT_THAT(run({"history", "*", "--db", "h.db", "-v"}).out, Not(HasSubstr("program")));
  // A fault that is switched on or off is not another program.
  ASSERT_EQ(run({"run", "--db", "faults.db"}).code, 0);
  EXPECT_THAT(run({"run", "--db", "faults.db", "--fault", "scale_doubled"}).out, Not(HasSubstr("another program")));
  EXPECT_THAT(run({"run", "--db", "faults.db"}).out, Not(HasSubstr("another program")));

  const std::vector<std::string> imposter{"run", "--db", "h.db", "--converter-cmd", embedded_behind(":")};
  const Call second = run(imposter);
  EXPECT_THAT(second.out, HasSubstr("was another program, or had other arguments, in the run of 20"));
  EXPECT_THAT(run(imposter).out, Not(HasSubstr("another program")));
  const Call history = run({"history", "mini/stride=1", "--db", "h.db", "-v"});
  EXPECT_THAT(history.out, AllOf(HasSubstr("  program "), HasSubstr("was 2 different programs")));
  const nlohmann::json rows = run({"history", "mini/stride=1", "--db", "h.db", "--json"}).json()["history"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["converter_hash"], rows[1]["converter_hash"]);
  EXPECT_NE(rows[1]["converter_hash"], rows[2]["converter_hash"]);
  EXPECT_EQ(rows[2]["converter_hash"].get<std::string>().size(), 64U);
}

TEST_F(ConvertersOfARun, LeaveTheirInputsToEachOther) {
  const std::string writer = embedded_behind(
      "model=$(printf '%s' \"$line\" | sed -n 's/.*\"model\":\"\\([^\"]*\\)\".*/\\1/p')\n"
      "if [ -n \"$model\" ]; then echo garbage > \"$model\"; fi");
  for (const bool first : {true, false}) {
    std::vector<std::string> words{"run", "--json"};
    std::vector<std::string> commands{writer, std::string(ASSAY_PROGRAM) + " worker"};
    if (!first) std::swap(commands[0], commands[1]);
    for (const std::string& command : commands) {
      words.emplace_back("--converter-cmd");
      words.push_back(command);
    }
    const Call call = run(words);
    const nlohmann::json json = call.json();
    ASSERT_TRUE(json.is_object()) << call.out << call.err;
    EXPECT_EQ(json["verdicts"]["pass"], 2) << call.out;
    EXPECT_EQ(json["verdicts"]["crash"], 2) << call.out;
    EXPECT_THAT(call.out,
                HasSubstr("protocol: it wrote into the model that it was given: \\\"model.onnx\\\" has changed"));
  }
}

TEST_F(ConvertersOfARun, AreStartedAgainWhenTheyAreKilledBeforeTheyAreAsked) {
  write("killed.sh", "if mkdir " + path("once").string() + " 2>/dev/null; then read -r line; kill -KILL $$; fi\nexec " +
                         ASSAY_PROGRAM + " worker\n");
  const Call call = run({"run", "--converter-cmd", "sh " + path("killed.sh").string(), "--no-sandbox"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("2 planned: 2 pass"));
}

TEST_F(ConvertersOfARun, EndAsTheyFellWhenTheyNeverDescribeThemselves) {
  const Call oom = run({"run", "--converter-cmd", "sh -c 'read -r line; exit 137'"});
  EXPECT_EQ(oom.code, 1);
  EXPECT_THAT(oom.out, HasSubstr("2 planned: 2 oom"));
  const Call words = run({"run", "--converter-cmd", "sh -c 'read -r line; echo std::bad_alloc >&2; exit 3'"});
  EXPECT_THAT(words.out, HasSubstr("2 planned: 2 oom"));
}

TEST_F(ConvertersOfARun, AreNotJudgedWhenTheyNeverDescribeThemselves) {
  for (const char* command : {"sh -c 'read -r line; kill -KILL $$'", "sh no_such_converter.sh", "no-such-program"}) {
    const Call call = run({"run", "--db", "h.db", "--converter-cmd", command});
    EXPECT_EQ(call.code, 2) << command;
    EXPECT_EQ(call.out, "") << command;
    EXPECT_THAT(call.err, HasSubstr("so no case was run")) << command;
    EXPECT_EQ(run({"history", "*", "--db", "h.db"}).code, 5) << "a verdict of " << command;
  }
  EXPECT_THAT(run({"run", "--converter-cmd", "sh no_such_converter.sh"}).err, HasSubstr("no_such_converter.sh"))
      << "what the program printed";
}

}  // namespace
}  // namespace assay::test
