#include "harness/cli/guard.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "harness/cli/print.hpp"
#include "harness/core/files.hpp"
#include "harness/core/forked.hpp"

namespace assay::cli {
namespace {

constexpr int kWatchMs = 100;

volatile std::sig_atomic_t ended_by = 0;

/// A signal that ends this program ends the guarded process before it, which has folders and programs of its own.
void note_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) { ended_by = number; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

int died(const std::string& how) {
  core::sweep_temporary_folders();
  print(stderr,
        "assay: the process that judges {}; nothing is said of the model or the converter. Please report it with "
        "the command and its files\n",
        how);
  return kExitOwnFault;
}

/// The first signal is the child's, which ends by itself then; a later one isn't. Who signals a process and its group,
/// as timeout(1) does, signals once.
class FirstSignal {
 public:
  explicit FirstSignal(bool asks) : asks_(asks) {}
  /// Whether what came is to be waited for.
  bool takes(const core::Forked& child) {
    constexpr std::chrono::seconds kOne{1};
    const auto now = std::chrono::steady_clock::now();
    if (!asks_ || (passed_ && now - *passed_ > kOne)) return false;
    if (!passed_) {
      passed_ = now;
      ::kill(child.pid(), ended_by);
    }
    ended_by = 0;
    return true;
  }

 private:
  bool asks_;
  std::optional<std::chrono::steady_clock::time_point> passed_;
};

/// A time of 0: no limit. `asks`: the first signal is the child's.
int watch(core::Forked& child, const run::JudgeLimits& limits, bool asks) {
  std::string code;
  FirstSignal first(asks);
  while (!child.ended()) {
    pollfd news{child.descriptor(), POLLIN, 0};
    ::poll(&news, 1, kWatchMs);
    for (std::string& message : child.receive()) code = std::move(message);
    if (child.ended()) break;
    if (ended_by != 0 && !first.takes(child)) {
      child.kill();
      core::sweep_temporary_folders();
      ::signal(ended_by, SIG_DFL);
      ::raise(ended_by);
    }
    const bool late = limits.timeout_s > 0 && child.processor_seconds() > limits.timeout_s;
    if (!late && child.memory() <= limits.memory_bytes) continue;
    child.kill();
    return died(late ? fmt::format("took more than {:g} s of processor time (--judge-timeout) and was stopped",
                                   limits.timeout_s)
                     : fmt::format("took more than {} MiB of memory and was stopped", limits.memory_bytes >> 20U));
  }
  if (!code.empty()) return std::stoi(code);
  return died("ended with " + core::exit_text(*child.ended()));
}

run::JudgeLimits memory_alone() { return {0, run::judge_limits({}).memory_bytes}; }

Action guarded_by(Action action, std::function<run::JudgeLimits()> limits, bool asks) {
  return [action = std::move(action), limits = std::move(limits), asks] {
    const pid_t group = ::getpgrp();
    core::Result<core::Forked> child = core::Forked::start([&](core::Forked::Line& line) {
      ::setpgid(0, group);  // it may read from the terminal
      line.send(std::to_string(run_caught(action)));
    });
    if (!child) return run_caught(action);
    note_signals();
    return watch(*child, limits(), asks);
  };
}

}  // namespace

int run_caught(const Action& action) {
  try {
    return action();
  } catch (const std::exception& error) {
    print(stderr, "assay: failed itself: {}\n", error.what());
    return kExitOwnFault;
  }
}

Action guarded(Action action) { return guarded_by(std::move(action), memory_alone, false); }

Action guarded_asking_first(Action action, std::function<run::JudgeLimits()> limits) {
  return guarded_by(std::move(action), std::move(limits), true);
}

Action guarded(Action action, std::function<run::JudgeLimits()> limits) {
  return guarded_by(std::move(action), std::move(limits), false);
}

}  // namespace assay::cli
