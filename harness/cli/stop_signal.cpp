#include "harness/cli/stop_signal.hpp"

#include <csignal>

namespace assay::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

std::function<int()> stop_on_signal() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = interrupted + 1; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  return [] { return static_cast<int>(interrupted); };
}

}  // namespace assay::cli
