#include "harness/core/forked.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace assay::core {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// The next messages, waited for until there are `count` or the child has ended.
std::vector<std::string> messages(Forked& child, std::size_t count) {
  std::vector<std::string> all;
  while (all.size() < count && !child.ended()) {
    pollfd news{child.descriptor(), POLLIN, 0};
    ::poll(&news, 1, 5000);
    for (std::string& each : child.receive()) all.push_back(std::move(each));
  }
  return all;
}

/// Not so of one that has ended and that nobody waits for.
bool runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  return !line.empty() && line.find(") Z ") == std::string::npos;
}

Forked started(const std::function<void(Forked::Line&)>& work) { return Forked::start(work).value(); }

TEST(Forked, AnswersWithWhatTheParentHadInMemory) {
  const std::string known = "known before";
  Forked child = started([&](Forked::Line& line) {
    while (const auto order = line.receive()) line.send(known + ", " + *order);
  });
  ASSERT_TRUE(child.send("one"));
  ASSERT_TRUE(child.send(std::string("t\0o", 3)));
  EXPECT_THAT(messages(child, 2), ElementsAre("known before, one", std::string("known before, t\0o", 17)));
  child.send_no_more();
  EXPECT_TRUE(messages(child, 1).empty());
  EXPECT_EQ(child.ended()->code, 0);
  EXPECT_FALSE(child.send("three"));
}

TEST(Forked, HandsOverLongMessages) {
  Forked child = started([](Forked::Line& line) {
    for (int number = 0; number < 3; ++number) line.send(std::string(5U << 20U, static_cast<char>('a' + number)));
  });
  const auto all = messages(child, 3);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2], std::string(5U << 20U, 'c'));
}

TEST(Forked, SaysHowItEnded) {
  Forked crashed = started([](Forked::Line& line) {
    line.send("last words");
    ::raise(SIGKILL);
  });
  EXPECT_THAT(messages(crashed, 2), ElementsAre("last words"));
  EXPECT_EQ(crashed.ended()->signal, SIGKILL);
}

TEST(Forked, IsKilledWithItsPrograms) {
  Forked child = started([](Forked::Line& line) {
    SpawnOptions options;
    options.arguments = {"sleep", "600"};
    const Process program = Process::spawn(options).value();
    line.send(std::to_string(program.pid()));
    (void)line.receive();
  });
  const auto pid = messages(child, 1);
  ASSERT_THAT(pid, SizeIs(1));
  const int program = std::stoi(pid.front());
  EXPECT_TRUE(runs(program));
  child.kill();
  EXPECT_EQ(child.ended()->signal, SIGKILL);
  for (int look = 0; look < 200 && runs(program); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  EXPECT_FALSE(runs(program));
}

TEST(Forked, KnowsItsMemory) {
  constexpr std::size_t kBytes = std::size_t{64} << 20U;
  Forked child = started([](Forked::Line& line) {
    const std::string held(kBytes, 'x');
    line.send("held");
    (void)line.receive();
    line.send(held.substr(0, 1));
  });
  ASSERT_THAT(messages(child, 1), ElementsAre("held"));
  EXPECT_GE(child.memory(), kBytes);
}

TEST(Forked, KnowsHowLongItsLastStepComputes) {
  const auto compute = [] {
    constexpr std::clock_t kTwoFifths = 2 * CLOCKS_PER_SEC / 5;
    for (const std::clock_t begin = std::clock(); std::clock() - begin < kTwoFifths;) {
    }
  };
  Forked child = started([&](Forked::Line& line) {
    for (int step = 0; step < 2; ++step) {
      compute();
      line.send("computed");
      (void)line.receive();
      Forked::begin_step();
      line.send("begun");
      (void)line.receive();
    }
  });
  for (int step = 0; step < 2; ++step) {
    ASSERT_THAT(messages(child, 1), ElementsAre("computed"));
    EXPECT_GE(child.processor_seconds(), 0.3) << step;
    EXPECT_TRUE(child.send("on"));
    ASSERT_THAT(messages(child, 1), ElementsAre("begun"));
    EXPECT_LT(child.processor_seconds(), 0.2) << step;
    EXPECT_TRUE(child.send("on"));
  }
  Forked::begin_step();  // nobody watches this process
}

}  // namespace
}  // namespace assay::core
