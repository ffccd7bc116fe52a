#include "harness/programs/workers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace assay::programs {
namespace {

using converters::Outcome;
using testing::ElementsAre;

/// Notes what it is asked.
class Noting final : public protocol::Client {
 public:
  explicit Noting(std::vector<std::string>& asked) : asked_(asked) {}
  core::Result<converters::Description> describe() override { return converters::Description(); }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    note("convert " + request.model.string());
    attempts_ = {{"convert", 1, Outcome::ok, request.model.string(), 0}};
    converters::ConvertReply reply;
    reply.outcome = Outcome::ok;
    return reply;
  }
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    note("execute " + request.artifact.string());
    attempts_ = {{"execute", 1, Outcome::ok, request.artifact.string(), 0}};
    return {};
  }
  const std::vector<protocol::Attempt>& attempts() const override { return attempts_; }
  core::Status quit() override { return core::success(); }

 private:
  void note(std::string what) {
    EXPECT_FALSE(busy_.exchange(true)) << "two requests at a time";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    asked_.push_back(std::move(what));
    busy_ = false;
  }
  std::vector<std::string>& asked_;
  std::vector<protocol::Attempt> attempts_;
  std::atomic<bool> busy_{false};
};

std::vector<std::unique_ptr<protocol::Client>> noting(std::vector<std::string>& asked) {
  std::vector<std::unique_ptr<protocol::Client>> clients;
  clients.push_back(std::make_unique<Noting>(asked));
  return clients;
}

class SharedWorkers : public testing::Test {
 protected:
  [[nodiscard]] Turn turn() { return Turn(workers_, 0, subject_, {}); }
  static void convert(Turn& turn, const std::string& model) { (void)turn.convert({model, {}, {}, {}}); }
  static void execute(Turn& turn, const std::string& model) { (void)turn.execute({model, {}, {}}); }

  std::vector<std::string> asked_;
  Subject subject_;
  Workers workers_{1, noting(asked_)};
};

TEST_F(SharedWorkers, KeepsTheRequestsOfATurnTogether) {
  const auto work = [this](const std::string& name) {
    for (int i = 0; i < 20; ++i) {
      Turn mine = turn();
      convert(mine, name);
      execute(mine, name);
      mine.pass_on();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  {
    const std::jthread first(work, "a");
    const std::jthread second(work, "b");
  }
  ASSERT_EQ(asked_.size(), 80U);
  std::size_t changes = 0;
  for (std::size_t i = 0; i < asked_.size(); i += 2) {
    EXPECT_EQ(asked_[i].substr(0, 8), "convert ");
    EXPECT_EQ(asked_[i + 1], "execute " + asked_[i].substr(8));
    changes += i > 0 && asked_[i] != asked_[i - 2] ? 1U : 0U;
  }
  EXPECT_GT(changes, 2U) << "the two did not take turns";
}

TEST_F(SharedWorkers, AsksAgainInAnotherTurn) {
  Turn first = turn();
  convert(first, "a");
  first.pass_on();
  std::jthread other([this] {
    Turn second = turn();
    convert(second, "b");
    second.pass_on();
  });
  other.join();
  execute(first, "a");  // the trace that a judgement asks for
  EXPECT_THAT(asked_, ElementsAre("convert a", "convert b", "execute a"));
}

TEST_F(SharedWorkers, TellsTheTriesOfItsOwnRequests) {
  Turn first = turn();
  convert(first, "a");
  first.pass_on();
  Turn second = turn();
  EXPECT_TRUE(second.attempts().empty());
  convert(second, "b");
  ASSERT_EQ(first.attempts().size(), 1U);
  EXPECT_EQ(first.attempts().front().reason, "a");
  EXPECT_EQ(second.attempts().front().reason, "b");
}

TEST(Workers, AnyFreeOneIsTakenAndAskedAgain) {
  std::vector<std::string> first;
  const Subject subject;
  Workers workers(2, noting(first));
  Turn a(workers, 0, subject, {});
  (void)a.convert({"a", {}, {}, {}});
  auto b = std::make_unique<Turn>(workers, 0, subject, ClientLimits());  // the second worker: nobody waits
  a.pass_on();
  Turn c(workers, 0, subject, {});  // the first again
  (void)c.convert({"c", {}, {}, {}});
  b.reset();
  c.pass_on();
  (void)a.execute({"a", {}, {}});
  EXPECT_THAT(first, ElementsAre("convert a", "convert c", "execute a"));
}

}  // namespace
}  // namespace assay::programs
