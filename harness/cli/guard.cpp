#include "harness/cli/guard.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include "harness/cli/print.hpp"
#include "harness/core/files.hpp"
#include "harness/core/forked.hpp"
#include "harness/run/lanes.hpp"

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

int watch(core::Forked& child) {
  const std::uint64_t most = run::judge_limits({}).memory_bytes;
  std::string code;
  while (!child.ended()) {
    pollfd news{child.descriptor(), POLLIN, 0};
    ::poll(&news, 1, kWatchMs);
    for (std::string& message : child.receive()) code = std::move(message);
    if (child.ended()) break;
    if (ended_by != 0) {
      child.kill();
      core::sweep_temporary_folders();
      ::signal(ended_by, SIG_DFL);
      ::raise(ended_by);
    }
    if (child.memory() <= most) continue;
    child.kill();
    return died(fmt::format("took more than {} MiB of memory and was stopped", most >> 20U));
  }
  if (!code.empty()) return std::stoi(code);
  return died("ended with " + core::exit_text(*child.ended()));
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

Action guarded(Action action) {
  return [action = std::move(action)] {
    const pid_t group = ::getpgrp();
    core::Result<core::Forked> child = core::Forked::start([&](core::Forked::Line& line) {
      ::setpgid(0, group);  // it may read from the terminal
      line.send(std::to_string(run_caught(action)));
    });
    if (!child) return run_caught(action);
    note_signals();
    return watch(*child);
  };
}

}  // namespace assay::cli
