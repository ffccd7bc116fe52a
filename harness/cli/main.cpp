#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "harness/cli/common.hpp"
#include "harness/core/build_info.hpp"
#include "harness/core/memory.hpp"

namespace {

using namespace assay::cli;

int run_program(int count, char** arguments) {
  Action action;
  const Program program{
      "assay", "Assay judges quantized converters: programs that turn an ONNX model into an INT8 model or engine.",
      std::string("assay ") + assay::core::version()};
  const std::optional<int> ended = parse_command_line(count, arguments, program, [&](Command app) {
    for (const Register add : all_commands()) add(app, action);
  });
  if (ended) return *ended == 0 ? kExitOk : kExitUsage;
  return action();
}

}  // namespace

int main(int count, char** arguments) {
  assay::core::keep_freed_memory();
  try {
    return run_program(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay: failed itself: {}\n", error.what());
    return kExitOwnFault;
  }
}
