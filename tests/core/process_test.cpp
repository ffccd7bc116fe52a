#include "harness/core/process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/core/files.hpp"

namespace assay::core {
namespace {

using ReadEnd = Process::ReadEnd;
using testing::HasSubstr;

Process::Clock::time_point in_ms(int milliseconds) {
  return Process::Clock::now() + std::chrono::milliseconds(milliseconds);
}

Process shell(const std::string& script, const SpawnOptions& base = {}) {
  SpawnOptions options = base;
  options.arguments = {"sh", "-c", script};
  auto process = Process::spawn(options);
  EXPECT_TRUE(process.ok());
  return std::move(process).value();
}

/// True once nothing has that number any more, or only its unreaped remains; waits up to two seconds.
bool gone(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    if (!(stat >> number >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Process, AnswersLineByLine) {
  Process cat = shell("while read -r word; do echo \"<$word>\"; done");
  EXPECT_TRUE(cat.write("one\ntwo\n", in_ms(5000)));
  EXPECT_EQ(cat.read_line(in_ms(5000)).text, "<one>");
  EXPECT_EQ(cat.read_line(in_ms(5000)).text, "<two>");
  cat.close_stdin();
  EXPECT_EQ(cat.read_line(in_ms(5000)).end, ReadEnd::end_of_file);
  const auto end = cat.wait(in_ms(5000));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(exit_text(*end), "exit status 0");
}

TEST(Process, TextAfterTheLastNewlineComesWithTheEnd) {
  Process child = shell("printf 'whole\\nhalf'");
  EXPECT_EQ(child.read_line(in_ms(5000)).text, "whole");
  const auto rest = child.read_line(in_ms(5000));
  EXPECT_EQ(rest.end, ReadEnd::end_of_file);
  EXPECT_EQ(rest.text, "half");
}

TEST(Process, ReadingStopsAtTheDeadline) {
  Process child = shell("sleep 60");
  const auto begin = Process::Clock::now();
  EXPECT_EQ(child.read_line(in_ms(100)).end, ReadEnd::deadline);
  EXPECT_LT(Process::Clock::now() - begin, std::chrono::seconds(5));
}

TEST(Process, WritingToAChildThatDoesNotReadStopsAtTheDeadline) {
  Process child = shell("sleep 60");
  EXPECT_FALSE(child.write(std::string(std::size_t{1} << 20U, 'x'), in_ms(100)));
}

TEST(Process, WritingToAnEndedChildFailsWithoutASignal) {
  Process child = shell("exit 0");
  ASSERT_TRUE(child.wait(in_ms(5000)).has_value());
  EXPECT_FALSE(child.write("too late\n", in_ms(1000)));
}

TEST(Process, WritingDrainsWhatTheChildSaysMeanwhile) {
  Process echo = shell("cat; cat <&- >&2 || true");
  const std::string big = std::string(std::size_t{4} << 20U, 'x') + "\n";
  EXPECT_TRUE(echo.write(big, in_ms(20000)));
  EXPECT_EQ(echo.read_line(in_ms(20000)).text.size(), big.size() - 1);
}

TEST(Process, LinesOverTheLimitAreNotCollected) {
  Process child = shell("head -c 3000000 /dev/zero | tr '\\0' 'x'; echo");
  EXPECT_EQ(child.read_line(in_ms(20000), std::size_t{1} << 20U).end, ReadEnd::too_long);
}

TEST(Process, AFloodOfStandardErrorNeverBlocksAnAnswer) {
  SpawnOptions options;
  options.keep_stderr_bytes = 100;
  Process child = shell("head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo last words >&2; echo answer", options);
  EXPECT_EQ(child.read_line(in_ms(20000)).text, "answer");
  ASSERT_TRUE(child.wait(in_ms(20000)).has_value());
  EXPECT_EQ(child.stderr_tail().size(), 100U);
  EXPECT_THAT(child.stderr_tail(), testing::EndsWith("last words\n"));
}

TEST(Process, ASignalIsReportedByNumberAndName) {
  Process child = shell("kill -SEGV $$");
  const auto end = child.wait(in_ms(5000));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(exit_text(*end), "signal 11 (SIGSEGV)");
}

TEST(Process, KillingReachesGrandchildren) {
  Process child = shell("sleep 300 & echo $!; wait");
  const pid_t grandchild = std::stoi(child.read_line(in_ms(5000)).text);
  EXPECT_EQ(exit_text(child.kill_group()), "signal 9 (SIGKILL)");
  EXPECT_TRUE(gone(grandchild));
}

TEST(Process, WhatAChildLeavesBehindIsKilledWhenItEnds) {
  Process child = shell("sleep 300 & echo $!");
  const pid_t grandchild = std::stoi(child.read_line(in_ms(5000)).text);
  // The grandchild holds standard output open, but the end of its parent ends the reading.
  EXPECT_EQ(child.read_line(in_ms(10000)).end, ReadEnd::end_of_file);
  ASSERT_TRUE(child.wait(in_ms(5000)).has_value());
  EXPECT_TRUE(gone(grandchild));
}

TEST(Process, DestructionKillsTheGroup) {
  pid_t pid = 0;
  {
    Process child = shell("sleep 300");
    pid = child.pid();
    EXPECT_TRUE(child.running());
  }
  EXPECT_TRUE(gone(pid));
}

TEST(Process, AMissingProgramIsAnErrorThatNamesIt) {
  SpawnOptions options;
  options.arguments = {"no-such-program-here"};
  const auto by_path = Process::spawn(options);
  ASSERT_FALSE(by_path.ok());
  EXPECT_EQ(by_path.error().kind, ErrorKind::io);
  EXPECT_THAT(by_path.error().message, HasSubstr("\"no-such-program-here\": no folder of PATH"));

  options.arguments = {"/no/such/file"};
  options.memory_limit_bytes = std::uint64_t{1} << 30U;
  const auto by_file = Process::spawn(options);
  ASSERT_FALSE(by_file.ok());
  EXPECT_THAT(by_file.error().message, HasSubstr("there is no such file"));
}

TEST(Process, AMissingWorkingFolderIsAnError) {
  SpawnOptions options;
  options.arguments = {"true"};
  options.working_folder = "/no/such/folder";
  const auto process = Process::spawn(options);
  ASSERT_FALSE(process.ok());
  EXPECT_THAT(process.error().message, HasSubstr("/no/such/folder"));
}

TEST(Process, WorkingFolderAndEnvironmentReachTheChild) {
  const auto folder = TemporaryFolder::create();
  ASSERT_TRUE(folder.ok());
  SpawnOptions options;
  options.working_folder = folder->path().string();
  options.environment = {{"ASSAY_TEST_WORD", "two words"}};
  Process child = shell("pwd -P; echo \"$ASSAY_TEST_WORD\"", options);
  EXPECT_EQ(child.read_line(in_ms(5000)).text, std::filesystem::canonical(folder->path()).string());
  EXPECT_EQ(child.read_line(in_ms(5000)).text, "two words");
}

TEST(Process, TheMemoryLimitHoldsInTheChildOnly) {
  SpawnOptions options;
  options.memory_limit_bytes = std::uint64_t{512} << 20U;
  Process child = shell("ulimit -v", options);
  EXPECT_EQ(child.read_line(in_ms(5000)).text, "524288");
  Process free = shell("ulimit -v");
  EXPECT_EQ(free.read_line(in_ms(5000)).text, "unlimited");
}

TEST(Process, ArgumentsArePassedAsTheyAre) {
  SpawnOptions options;
  options.arguments = {"printf", "%s|", "a b", "$HOME", "'\"", ""};
  options.memory_limit_bytes = std::uint64_t{1} << 30U;
  auto child = Process::spawn(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->read_line(in_ms(5000)).text, "a b|$HOME|'\"||");
}

TEST(Process, ChildrenStartedByManyThreadsInheritNothing) {
  // Were a pipe of one child open in another, closing its input would not end it while the other lives.
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 10; ++round) {
          Process child = shell("cat");
          child.close_stdin();
          if (child.wait(in_ms(20000)).has_value()) ++ended;
        }
      });
    }
  }
  EXPECT_EQ(ended, 80);
}

TEST(Process, NothingButTheThreeStreamsIsOpenInTheChild) {
  Process neighbour = shell("cat");
  Process child = shell("ls /proc/$$/fd | sort -n | tr '\\n' ' '; echo");
  // dash itself may hold one more (10) for a script; ours would be 3 to 9.
  EXPECT_THAT(child.read_line(in_ms(5000)).text, testing::StartsWith("0 1 2"));
  Process count = shell("for fd in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$fd ] && echo leaked $fd; done; echo done");
  EXPECT_EQ(count.read_line(in_ms(5000)).text, "done");
}

TEST(Process, UnsolicitedOutputIsSeen) {
  Process child = shell("echo hello; read -r word");
  while (!child.has_buffered_output()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(child.read_line(in_ms(5000)).text, "hello");
  EXPECT_FALSE(child.has_buffered_output());
}

TEST(RunAttached, TellsHowTheProgramEnded) {
  const auto code = run_attached({"sh", "-c", "exit 7"});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->code, 7);
  const auto killed = run_attached({"sh", "-c", "kill -9 $$"});
  ASSERT_TRUE(killed.ok());
  EXPECT_EQ(exit_text(*killed), "signal 9 (SIGKILL)");
}

TEST(RunAttached, SaysWhichProgramIsMissing) {
  const auto missing = run_attached({"no-such-program"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("can't start \"no-such-program\""));
}

}  // namespace
}  // namespace assay::core
