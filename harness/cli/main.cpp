#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/memory.hpp"

namespace {

using namespace assay::cli;

int run_program(int count, char** arguments) {
  Action action;
  const std::optional<int> ended =
      parse_command_line(count, arguments, this_program(), [&](Command app) { add_all_commands(app, action); });
  if (ended) return *ended == 0 ? kExitOk : kExitUsage;
  return action();
}

}  // namespace

int main(int count, char** arguments) {
  assay::core::keep_freed_memory();
  try {
    return run_program(count, arguments);
  } catch (const std::exception& error) {
    print(stderr, "assay: failed itself: {}\n", error.what());
    return kExitOwnFault;
  }
}
