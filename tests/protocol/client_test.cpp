#include "converters/protocol/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "harness/core/files.hpp"

#if defined(__SANITIZE_ADDRESS__)
// The address sanitizer reserves more address space than any limit that would make a test.
#define ASSAY_SKIP_UNDER_ASAN() GTEST_SKIP() << "RLIMIT_AS doesn't go with the address sanitizer"
#else
#define ASSAY_SKIP_UNDER_ASAN() \
  do {                          \
  } while (false)
#endif

namespace assay::protocol {
namespace {

using converters::ConvertReply;
using converters::Outcome;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Worker : public testing::Test {
 protected:
  Worker() : folder_(core::TemporaryFolder::create().value()) {
    std::filesystem::create_directories(folder_.path() / "out");
  }

  [[nodiscard]] ClientOptions options(const std::string& mode) const {
    ClientOptions options;
    options.command = {ASSAY_TEST_ADAPTER, mode};
    options.environment = {{"ASSAY_TEST_STATE", (folder_.path() / "state").string()}};
    options.timeout_s = 20;
    options.start_timeout_s = 20;
    return options;
  }
  [[nodiscard]] std::filesystem::path out() const { return folder_.path() / "out"; }
  [[nodiscard]] ConvertReply convert(Client& client) const {
    return client.convert({folder_.path() / "model.onnx", folder_.path() / "calibration", {}, out()});
  }
  [[nodiscard]] converters::ExecuteReply execute(Client& client) const {
    return client.execute({out() / "model.onnx", folder_.path(), out()});
  }
  /// Converts once with an adapter of that mode.
  [[nodiscard]] ConvertReply convert_with(const std::string& mode) const {
    const auto client = make_client(options(mode));
    return convert(*client);
  }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

 private:
  core::TemporaryFolder folder_;
};
using WorkerDies = Worker;
using WorkerHangs = Worker;
using WorkerBreaksProtocol = Worker;
using WorkerAnswers = Worker;
using WorkerQuits = Worker;

TEST_F(WorkerAnswers, InUtf8WhateverLocaleThereIs) {
  ClientOptions shell = options("good");
  shell.command = {"sh", "-c",
                   R"(read -r line
                      echo '{"id":1,"status":"ok","name":"'"$PYTHONUTF8"'","version":"1","supports":{},"policy":{}}'
                      cat)"};
  const auto description = make_client(shell)->describe();
  ASSERT_TRUE(description.ok()) << description.error().message;
  EXPECT_EQ(description->name, "1");
}

TEST_F(WorkerAnswers, DescriptionAndArtifact) {
  const auto client = make_client(options("good"));
  const auto description = client->describe();
  ASSERT_TRUE(description.ok()) << description.error().message;
  EXPECT_EQ(description->name, "misbehaving");
  EXPECT_TRUE(description->supports.says("tensors"));
  const auto reply = convert(*client);
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.reason;
  EXPECT_EQ(reply.artifact, out() / "model.onnx");
  EXPECT_EQ(execute(*client).outcome, Outcome::ok);
  EXPECT_EQ(client->attempts().size(), 1U);
  EXPECT_TRUE(client->quit().ok());
}

TEST_F(WorkerAnswers, OneProcessServesManyRequests) {
  const auto client = make_client(options("good"));
  const auto first = execute(*client);
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  EXPECT_EQ(execute(*client).reason, first.reason);  // its process number
}

TEST_F(WorkerAnswers, RefusalsAndErrorsInItsOwnWords) {
  const auto refused = convert_with("refused");
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_EQ(refused.node, "n7");
  EXPECT_EQ(refused.op, "CumSum");
  EXPECT_EQ(refused.reason, "no INT8 form");
  const auto error = convert_with("error");
  EXPECT_EQ(error.outcome, Outcome::error);
  EXPECT_EQ(error.reason, "ValueError: (64,)(10,)");
}

TEST_F(WorkerAnswers, UnknownKeysAreIgnored) { EXPECT_EQ(convert_with("unknown-keys").outcome, Outcome::ok); }

TEST_F(WorkerAnswers, BareAndQuotedNotANumbers) {
  const auto reply = convert_with("nan");
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.reason;
  ASSERT_EQ(reply.tensors.size(), 1U);
  EXPECT_EQ(reply.tensors[0].name, "NaN, \"NaN");
  const auto& scale = reply.tensors[0].params.scale;
  ASSERT_EQ(scale.size(), 4U);
  EXPECT_TRUE(std::isnan(scale[0]));
  EXPECT_EQ(scale[1], -HUGE_VAL);
  EXPECT_EQ(scale[2], HUGE_VAL);
  EXPECT_TRUE(std::isnan(scale[3]));
}

TEST_F(WorkerAnswers, AFloodOfStandardErrorChangesNothing) { EXPECT_EQ(convert_with("flood").outcome, Outcome::ok); }

TEST_F(WorkerAnswers, RelativePathsReachAWorkerInAnotherFolder) {
  auto moved = options("good");
  moved.working_folder = "/";
  const auto client = make_client(moved);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder());
  const auto reply = client->convert({"model.onnx", "calibration", {}, "out"});
  std::filesystem::current_path(before);
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.reason;
}

TEST_F(WorkerDies, ASignalIsACrashWithItsNameAndLastWords) {
  const auto reply = convert_with("segv");
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, StartsWith("ended with signal 11 (SIGSEGV) before it answered convert"));
  EXPECT_THAT(reply.reason, HasSubstr("about to fall"));
}

TEST_F(WorkerDies, AnExitIsACrashWithItsStatus) {
  EXPECT_THAT(convert_with("exit-3").reason, HasSubstr("exit status 3"));
  EXPECT_EQ(convert_with("exit-3").outcome, Outcome::crash);
  EXPECT_EQ(convert_with("abort").outcome, Outcome::crash);
}

TEST_F(WorkerDies, TheNextRequestGetsANewProcess) {
  const auto client = make_client(options("segv-once"));
  EXPECT_EQ(convert(*client).outcome, Outcome::crash);
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  EXPECT_EQ(execute(*client).outcome, Outcome::ok);
}

TEST_F(WorkerDies, AfterItsAnswerAndHarmsNoOtherConversion) {
  const auto client = make_client(options("dies-afterwards"));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok) << "asked of a fresh process";
  ASSERT_EQ(client->attempts().size(), 2U);
  EXPECT_EQ(client->attempts()[0].outcome, Outcome::crash);
  EXPECT_THAT(client->attempts()[0].reason, HasSubstr("signal 9 (SIGKILL) before it was asked to convert"));
}

TEST_F(WorkerDies, ADeathBetweenRequestsOfAConversionIsTheOutcomeOfTheSecond) {
  const auto client = make_client(options("dies-afterwards"));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto reply = execute(*client);
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, HasSubstr("signal 9 (SIGKILL) before it was asked to execute"));
  EXPECT_EQ(execute(*client).outcome, Outcome::ok);
}

TEST_F(WorkerDies, MemoryThatRunsOutIsOom) {
  EXPECT_EQ(convert_with("exit-137").outcome, Outcome::oom);
  EXPECT_EQ(convert_with("throws-bad-alloc").outcome, Outcome::oom);
  EXPECT_EQ(convert_with("memory-error").outcome, Outcome::oom);
}

TEST_F(WorkerDies, AProgramThatCannotBeLoadedWithinItsLimitIsOom) {
  ASSAY_SKIP_UNDER_ASAN();
  ClientOptions unloaded = options("good");
  unloaded.command = {"sh", "-c", "echo 'libm.so.6: failed to map segment from shared object' >&2; exit 127"};
  EXPECT_EQ(convert(*make_client(unloaded)).outcome, Outcome::crash) << "without a limit it may be anything";
  unloaded.memory_limit_bytes = std::uint64_t{1} << 30U;
  EXPECT_EQ(convert(*make_client(unloaded)).outcome, Outcome::oom);
}

TEST_F(WorkerDies, TheMemoryLimitMakesAnOomAndSparesUs) {
  ASSAY_SKIP_UNDER_ASAN();
  auto limited = options("eats-memory-once");
  limited.memory_limit_bytes = std::uint64_t{512} << 20U;
  const auto client = make_client(limited);
  EXPECT_EQ(convert(*client).outcome, Outcome::oom);
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
}

TEST_F(WorkerDies, ALeakHarmsNoLaterCase) {
  ASSAY_SKIP_UNDER_ASAN();
  auto limited = options("leaks");
  limited.memory_limit_bytes = std::uint64_t{512} << 20U;
  const auto client = make_client(limited);
  std::size_t tried_again = 0;
  for (int request = 0; request < 12; ++request) {
    EXPECT_EQ(convert(*client).outcome, Outcome::ok) << "request " << request;
    if (client->attempts().size() == 2) {
      ++tried_again;
      EXPECT_EQ(client->attempts()[0].outcome, Outcome::oom);
    }
  }
  EXPECT_GE(tried_again, 1U) << "100 MiB a request don't fit 12 times into 512 MiB";
}

TEST_F(WorkerDies, AMissingProgramIsSaidByDescribe) {
  ClientOptions missing;
  missing.command = {"no-such-converter"};
  const auto client = make_client(missing);
  const auto description = client->describe();
  ASSERT_FALSE(description.ok());
  EXPECT_THAT(description.error().message, AllOf(HasSubstr("converter \"no-such-converter\""), HasSubstr("of PATH")));
  EXPECT_EQ(convert(*client).outcome, Outcome::crash);
}

TEST_F(WorkerDies, ADescribeThatFailsIsACrashOfTheConverter) {
  for (const auto& [mode, words] : {std::pair("describe-segv", "SIGSEGV"),
                                    {"describe-nameless", "without a name"},
                                    {"describe-error", "no licence"}}) {
    const auto client = make_client(options(mode));
    const auto description = client->describe();
    ASSERT_FALSE(description.ok()) << mode;
    EXPECT_THAT(description.error().message, AllOf(HasSubstr("crash"), HasSubstr(words)));
    EXPECT_EQ(client->attempts().back().outcome, Outcome::crash);
    EXPECT_EQ(convert(*client).outcome, Outcome::crash);
  }
}

TEST_F(WorkerDies, AProgramThatEndsBeforeItDescribesItselfIsStartedAgain) {
  const auto client = make_client(options("describe-segv-once"));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok) << "it was not asked to convert when it died";
  ASSERT_EQ(client->attempts().size(), 2U);
  EXPECT_EQ(client->attempts()[0].request, "describe");
  EXPECT_THAT(client->attempts()[0].reason, HasSubstr("SIGSEGV"));
  EXPECT_EQ(client->attempts()[1].request, "convert");
}

TEST_F(WorkerDies, AProgramThatNeverDescribesItselfIsStartedThreeTimes) {
  const auto client = make_client(options("describe-segv"));
  const auto description = client->describe();
  ASSERT_FALSE(description.ok());
  EXPECT_THAT(description.error().message, HasSubstr("3 times in a row: ended with signal 11"));
  EXPECT_EQ(client->attempts().size(), 3U);
}

TEST_F(WorkerHangs, ATimeoutIsTriedOnceMoreInAFreshProcess) {
  auto quick = options("hang-once");
  quick.timeout_s = 1;
  const auto client = make_client(quick);
  const auto reply = convert(*client);
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.reason;
  ASSERT_EQ(client->attempts().size(), 2U);
  EXPECT_EQ(client->attempts()[0].outcome, Outcome::timeout);
  EXPECT_THAT(client->attempts()[0].reason, AllOf(HasSubstr("no answer to convert within 1 s"), HasSubstr("thinking")));
  EXPECT_GE(client->attempts()[0].seconds, 1.0);
  EXPECT_EQ(client->attempts()[1].number, 2);
  EXPECT_EQ(client->attempts()[1].outcome, Outcome::ok);
}

TEST_F(WorkerHangs, TwoTimeoutsAreATimeoutWithBothAttempts) {
  auto quick = options("hang");
  quick.timeout_s = 0.2;
  const auto client = make_client(quick);
  EXPECT_EQ(convert(*client).outcome, Outcome::timeout);
  EXPECT_EQ(client->attempts().size(), 2U);
  EXPECT_EQ(execute(*client).outcome, Outcome::ok);
}

TEST_F(WorkerHangs, TheSecondTryFindsAnEmptyOutputFolder) {
  auto quick = options("partial-then-hang-once");
  quick.timeout_s = 1;
  const auto client = make_client(quick);
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  EXPECT_FALSE(std::filesystem::exists(out() / "partial"));
}

TEST_F(WorkerHangs, WhatALinkInTheOutputFoldersPlaceLeadsToIsLeftAlone) {
  std::filesystem::create_directory(folder() / "theirs");
  std::ofstream(folder() / "theirs" / "model.onnx") << "theirs";
  auto quick = options("link-then-hang");
  quick.timeout_s = 0.5;
  EXPECT_EQ(convert(*make_client(quick)).outcome, Outcome::timeout);
  EXPECT_TRUE(std::filesystem::exists(folder() / "theirs" / "model.onnx"));

  quick = options("link-then-hang-once");
  quick.timeout_s = 0.5;
  EXPECT_EQ(convert(*make_client(quick)).outcome, Outcome::ok) << "the second try has a folder of its own";

  EXPECT_EQ(convert_with("folder-anew").outcome, Outcome::ok) << "many programs remove it and make it again";

  const auto reply = convert_with("link-in-place");
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, HasSubstr("it has replaced the folder \"out\", which it was to write into"));
}

TEST_F(WorkerHangs, GrandchildrenDieWithTheGroup) {
  auto quick = options("grandchild");
  quick.timeout_s = 1;
  quick.retry_timeouts = false;
  const auto client = make_client(quick);
  EXPECT_EQ(convert(*client).outcome, Outcome::timeout);
  int pid = 0;
  std::ifstream(folder() / "grandchild") >> pid;
  ASSERT_GT(pid, 0);
  std::string state = "S";
  for (int i = 0; i < 200 && state != "Z"; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    if (!(stat >> number >> name >> state)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (i == 199) FAIL() << "the grandchild lives on in state " << state;
  }
}

TEST_F(WorkerHangs, AtTheStartToo) {
  auto quick = options("describe-hang");
  quick.start_timeout_s = 0.2;
  const auto client = make_client(quick);
  const auto description = client->describe();
  ASSERT_FALSE(description.ok());
  EXPECT_THAT(description.error().message, HasSubstr("timeout: no answer to describe within 0.2 s"));
  EXPECT_EQ(client->attempts().size(), 2U);
}

struct Break {
  const char* mode;
  const char* words;
};
class EveryBreak : public WorkerBreaksProtocol, public testing::WithParamInterface<Break> {};

TEST_P(EveryBreak, IsACrashThatSaysProtocol) {
  const auto client = make_client(options(GetParam().mode));
  const auto reply = convert(*client);
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, StartsWith("protocol: "));
  EXPECT_THAT(reply.reason, HasSubstr(GetParam().words));
  EXPECT_LT(reply.reason.size(), 3000U);
  // The broken process is gone and the next request is answered.
  EXPECT_EQ(execute(*client).outcome, Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(
    WorkerBreaksProtocol, EveryBreak,
    testing::Values(Break{"garbage", "no JSON: Warning: converting"}, Break{"array", "no JSON object"},
                    Break{"bad-utf8", "no JSON"}, Break{"wrong-id", "has id 3"}, Break{"text-id", "has id \"2\""},
                    Break{"no-id", "without an id"}, Break{"no-status", "without a status"},
                    Break{"odd-status", "unknown status \"partly\""}, Break{"crash-status", "unknown status \"crash\""},
                    Break{"no-artifact", "names no artifact"}, Break{"missing-artifact", "/no/such/model.onnx"},
                    Break{"no-tensors", "\"reports\" lists \"tensors\""}, Break{"long-line", "over 16777216 bytes"},
                    Break{"endless-line", "over 16777216 bytes"}, Break{"two-answers", "nobody asked for, after"},
                    Break{"closes-output", "closed its standard output"}),
    [](const auto& test) {
      std::string name = test.param.mode;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST_F(WorkerBreaksProtocol, ALateLineIsTheOutcomeOfTheNextRequest) {
  const auto client = make_client(options("late-line"));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const auto reply = execute(*client);
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, HasSubstr("protocol: a line that nobody asked for, before it was asked to execute"));
  EXPECT_THAT(reply.reason, HasSubstr("progress"));
}

TEST_F(WorkerBreaksProtocol, AnAnswerWithoutItsNewlineIsNone) {
  const auto reply = convert_with("no-newline");
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, HasSubstr("exit status 0 before it answered convert"));
}

TEST_F(WorkerBreaksProtocol, AVersionThatChangesWithARestartIsOne) {
  const auto client = make_client(options("describe-changes"));
  ASSERT_TRUE(client->describe().ok());
  EXPECT_TRUE(client->quit().ok());
  const auto reply = convert(*client);
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, HasSubstr("after a restart"));
}

TEST_F(WorkerQuits, LateAndIsKilled) {
  auto impatient = options("late-quit");
  impatient.quit_timeout_s = 0.3;
  const auto client = make_client(impatient);
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  const auto status = client->quit();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("didn't end within 0.3 s of quit and was killed"));
}

TEST_F(WorkerQuits, WithAStatusThatIsSaid) {
  const auto client = make_client(options("status-on-quit"));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  const auto status = client->quit();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("exit status 4"));
}

TEST_F(WorkerQuits, ClosingItsInputIsSeenAtTheNextRequest) {
  const auto client = make_client(options("closes-input"));
  EXPECT_EQ(convert(*client).outcome, Outcome::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(execute(*client).outcome, Outcome::crash);
}

TEST(SplitCommand, SplitsAtBlanksAndKeepsQuotedOnes) {
  EXPECT_EQ(split_command("python3  adapter.py --flag").value(),
            (std::vector<std::string>{"python3", "adapter.py", "--flag"}));
  EXPECT_EQ(split_command(R"(a 'b c' "d \"e" f\ g '' x"y"z)").value(),
            (std::vector<std::string>{"a", "b c", "d \"e", "f g", "", "xyz"}));
  EXPECT_THAT(split_command("a 'b").error().message, HasSubstr("open quote"));
  EXPECT_THAT(split_command("  ").error().message, HasSubstr("names no program"));
}

}  // namespace
}  // namespace assay::protocol
