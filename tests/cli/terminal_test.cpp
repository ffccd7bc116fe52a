// What `assay run` prints for people, on a terminal and elsewhere.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

class Output : public HomeTest {
 protected:
  /// A family of 15 cases, more than are shown one by one.
  void SetUp() override {
    HomeTest::SetUp();
    std::string many = kMiniFamily;
    const auto replace = [&](const std::string& what, const std::string& with) {
      many.replace(many.find(what), what.size(), with);
    };
    replace("\"mini\"", "\"many\"");
    replace("[1, 2]", "[1, 2, 3, 4, 5], \"pad\": [0, 1, 2]");
    replace("$stride]>", "$stride], pads=[$pad,$pad,$pad,$pad]>");
    write("cases/many.json", many);
  }
  [[nodiscard]] Call on_terminal(int columns, const Words& words,
                                 std::map<std::string, std::string> environment) const {
    core::SpawnOptions options;
    options.arguments = {"python3", (source_tree() / "tests/cli/on_terminal.py").string(), std::to_string(columns),
                         ASSAY_PROGRAM};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.working_folder = path("").string();
    environment.emplace("ASSAY_HOME", path("").string());
    options.environment = std::move(environment);
    return finished(options);
  }
};

TEST_F(Output, BeginsWithWhoIsJudgedAndWhereTheDataComeFrom) {
  const std::vector<std::string> lines = lines_of(run({"run", "mini", "--fault", "bias_dropped"}).out);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), StartsWith("embedded "));
  EXPECT_THAT(lines.front(), HasSubstr(" with fault bias_dropped: 2 cases (mini); data drawn from each case's seed"));
}

TEST_F(Output, GroupsWhatIsRedByCauseAndShowsTheSmallestOnce) {
  const Call call = run({"run", "many", "--fault", "bias_dropped"});
  EXPECT_EQ(call.code, 1);
  const std::vector<std::string> lines = lines_of(call.out);
  // Of one cause a few are shown as they come, so that a screen holds what the run ends with.
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("fail "); }), 3) << call.out;
  EXPECT_THAT(call.out, HasSubstr("\n… and 12 more red verdicts, counted below by cause; -v shows each\n"));
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.find("reproduce: ") != line.npos; }), 1)
      << call.out;
  EXPECT_THAT(call.out, HasSubstr("15× fail, artifact/bias at Conv, in 15 cases of many; the smallest:"));
  EXPECT_EQ(lines.back(), "15 planned: 15 fail; 15 red of 1 cause");
}

TEST_F(Output, ShowsEachRedVerdictWhereThatIsAskedFor) {
  const std::vector<std::string> lines = lines_of(run({"run", "many", "--fault", "bias_dropped", "-v"}).out);
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("fail "); }), 15);
}

TEST_F(Output, OfManyGreenVerdictsIsTwoLines) {
  EXPECT_EQ(lines_of(run({"run", "many"}).out).size(), 2U);
  EXPECT_EQ(lines_of(run({"run", "many", "-v"}).out).size(), 17U);
  const Words last = lines_of(run({"run", "many", "-q"}).out);
  EXPECT_THAT(last, ElementsAre("15 planned: 15 pass"));
}

TEST_F(Output, IsTheSameEachTimeWhereNobodyLooksOn) {
  const Words words{"run", "many", "-v", "--jobs", "4"};
  EXPECT_EQ(run(words).out, run(words).out);
}

TEST_F(Output, HasNoEscapesOutsideATerminal) {
  const Call call = run({"run", "many", "--fault", "bias_dropped"}, {{"TERM", "xterm"}});
  EXPECT_THAT(call.out + call.err, Not(HasSubstr("\x1b")));
}

TEST_F(Output, IsColouredAndShowsProgressOnATerminal) {
  const Call call = on_terminal(200, {"run", "many", "--fault", "bias_dropped"}, {{"TERM", "xterm"}, {"NO_COLOR", ""}});
  EXPECT_EQ(call.code, 1) << call.err;
  EXPECT_THAT(call.out, HasSubstr("\x1b[31mfail\x1b[0m"));
  EXPECT_TRUE(std::regex_search(call.out, std::regex(R"(\[1/15\] \d+(\.\d)?/s, \d+:\d\d left  many/)"))) << call.out;
}

TEST_F(Output, RespectsNoColorAndADumbTerminal) {
  const Call plain =
      on_terminal(200, {"run", "many", "--fault", "bias_dropped"}, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  EXPECT_THAT(plain.out, AllOf(Not(HasSubstr("\x1b[3")), Not(HasSubstr("\x1b[1m")), HasSubstr("[1/15]")));
  const Call dumb = on_terminal(200, {"run", "many", "--fault", "bias_dropped"}, {{"TERM", "dumb"}});
  EXPECT_THAT(dumb.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("[1/15]"))));
}

TEST_F(Output, IsCutToTheWidth) {
  const Call call = on_terminal(40, {"run", "many", "-v"}, {{"TERM", "dumb"}});
  std::size_t cut = 0;
  for (std::string line : lines_of(call.out)) {
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
    if (!line.starts_with("pass ")) continue;
    EXPECT_EQ(columns_of(line), 40U) << line;
    EXPECT_TRUE(line.ends_with("…")) << line;
    ++cut;
  }
  EXPECT_EQ(cut, 15U);
}

TEST_F(Output, PrintsCommandsThatWorkWhereItRuns) {
  const Call call = run({"run", "mini/stride=1", "--fault", "bias_dropped"}, {{"ASSAY_COMMAND", ""}});  // its own word
  const std::size_t at = call.out.find("reproduce: ");
  ASSERT_NE(at, std::string::npos);
  std::string command = call.out.substr(at + 11);
  command = command.substr(0, command.find('\n'));
  core::SpawnOptions options;
  options.arguments = {"sh", "-c", command + " --json"};
  std::filesystem::create_directories(path("elsewhere"));
  options.working_folder = path("elsewhere").string();
  options.environment = {{"ASSAY_HOME", path("").string()}};
  const Call again = finished(options);
  EXPECT_EQ(again.code, 1) << command << again.err;
  EXPECT_EQ(again.json()["results"][0]["case"], "mini/stride=1");
}

}  // namespace
}  // namespace assay::test
