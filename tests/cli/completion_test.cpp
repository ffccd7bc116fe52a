// Completions and the manual page hold every command and option, and bash can use them.
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using Words = std::vector<std::string>;

class Completion : public HomeTest {
 protected:
  /// The words behind "Subcommands:" in a help text.
  [[nodiscard]] Words commands_of(const Words& command) const {
    Words words = command, found;
    words.emplace_back("--help");
    std::istringstream lines(run(words).out);
    bool below = false;
    for (std::string line; std::getline(lines, line);) {
      if (below && line.size() > 2 && line.starts_with("  ") && line[2] != ' ') {
        found.push_back(line.substr(2, line.find(' ', 2) - 2));
      }
      below = below || line == "Subcommands:";
    }
    return found;
  }
  /// The options that a help text names.
  [[nodiscard]] std::set<std::string> flags_of(const Words& command) const {
    Words words = command;
    words.emplace_back("--help");
    std::set<std::string> found;
    std::istringstream lines(run(words).out);
    static const std::regex kFlag("(^|[ ,])(--[a-z][a-z-]*|-[a-z])(?=[ ,]|$)");
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  -")) continue;
      const std::string head = line.substr(0, line.find("  ", 3));
      for (std::sregex_iterator it(head.begin(), head.end(), kFlag), end; it != end; ++it) found.insert((*it)[2]);
    }
    return found;
  }
  /// Every command with its options.
  [[nodiscard]] std::map<std::string, std::set<std::string>> all() const {
    std::map<std::string, std::set<std::string>> all;
    for (const std::string& command : commands_of({})) {
      all[command] = flags_of({command});
      for (const std::string& inner : commands_of({command})) all[command + " " + inner] = flags_of({command, inner});
    }
    return all;
  }
  /// What bash offers for this line.
  [[nodiscard]] std::set<std::string> offered(const std::string& line) const {
    core::SpawnOptions options;
    const std::string program = ASSAY_PROGRAM;
    const std::string whole = program + " " + line;
    options.arguments = {"bash", "-c",
                         "set -e; source <(\"$0\" completion bash); COMP_LINE=$1 COMP_POINT=${#1}; _assay; "
                         "printf '%s\\n' \"${COMPREPLY[@]}\"",
                         program, whole};
    options.working_folder = path("").string();
    options.environment = {{"ASSAY_HOME", path("").string()}};
    const Call call = finished(options);
    EXPECT_THAT(call.err, IsEmpty()) << line;
    std::set<std::string> words;
    std::istringstream lines(call.out);
    for (std::string word; std::getline(lines, word);) {
      if (!word.empty()) words.insert(word);
    }
    return words;
  }
};

TEST_F(Completion, HoldsEveryCommandAndOptionForEveryShell) {
  const auto commands = all();
  ASSERT_GT(commands.size(), 30U);
  ASSERT_TRUE(commands.at("run").contains("--converter"));
  const std::string bash = run({"completion", "bash"}).out, zsh = run({"completion", "zsh"}).out,
                    fish = run({"completion", "fish"}).out, man = run({"man"}).out;
  for (const auto& [command, flags] : commands) {
    const std::string last = command.substr(command.rfind(' ') + 1);
    EXPECT_THAT(bash, HasSubstr("    '" + command + "') flags='"));
    EXPECT_THAT(zsh, HasSubstr("    '" + last + ":"));
    EXPECT_THAT(fish, HasSubstr(" -a " + last + " -d "));
    EXPECT_THAT(man, HasSubstr("\n.SS " + std::regex_replace(command, std::regex("-"), "\\-") + "\n"));
    const std::size_t begin = bash.find("    '" + command + "') flags='");
    const std::string line = bash.substr(begin, bash.find('\n', begin) - begin);
    for (const std::string& flag : flags) {
      EXPECT_TRUE(std::regex_search(line, std::regex("[' ]" + flag + "[' ]"))) << command << " " << flag;
      EXPECT_THAT(zsh, HasSubstr("*" + flag + "["));
      EXPECT_THAT(fish,
                  HasSubstr(flag.starts_with("--") ? " -l " + flag.substr(2) + " " : " -s " + flag.substr(1) + " "));
      EXPECT_THAT(man, HasSubstr(std::regex_replace(flag, std::regex("-"), "\\-")));
    }
  }
  EXPECT_THAT(bash, Not(HasSubstr("worker"))) << "what is internal is nobody's to type";
}

TEST_F(Completion, OffersInBashWhatFits) {
  EXPECT_THAT(offered("re"), testing::UnorderedElementsAre("report", "replay", "reduce"));
  EXPECT_THAT(offered("run --conv"), testing::UnorderedElementsAre("--converter", "--converter-cmd"));
  EXPECT_THAT(offered("run --fault bias_d"), testing::Contains("bias_dropped"));
  EXPECT_THAT(offered("run mi"), testing::UnorderedElementsAre("mini", "mini/stride=1", "mini/stride=2"));
  EXPECT_THAT(offered("run def"), testing::Contains("default"));
  EXPECT_THAT(offered("run --converter em"), testing::Contains("embedded"));
  EXPECT_THAT(offered("bisect --over v"), testing::ElementsAre("versions"));
  EXPECT_THAT(offered("converters ins"), testing::ElementsAre("install"));
}

TEST_F(Completion, CompletesANameBehindWhatTheShellTakesForAnotherWord) {
  // bash splits at "=": what is offered replaces only what is behind it.
  EXPECT_THAT(offered("run mini/stride="), testing::UnorderedElementsAre("1", "2"));
}

TEST_F(Completion, AMistakeInTheCorpusStaysSilent) {
  write("cases/broken.json", "{");
  EXPECT_THAT(offered("run def"), testing::Contains("default"));
}

TEST_F(Completion, TheManualPageIsWholeRoff) {
  const std::string man = run({"man"}).out;
  EXPECT_THAT(man, testing::StartsWith(".TH ASSAY 1"));
  for (const char* section : {"NAME", "SYNOPSIS", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES"}) {
    EXPECT_THAT(man, HasSubstr(std::string("\n.SH ") + section + "\n"));
  }
  std::istringstream lines(man);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(".")) continue;
    EXPECT_TRUE(std::regex_search(line, std::regex(R"(^\.(TH|SH|SS|TP|PP)( |$))"))) << line;
  }
}

}  // namespace
}  // namespace assay::test
