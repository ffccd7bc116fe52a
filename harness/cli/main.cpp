#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "harness/cli/common.hpp"
#include "harness/core/build_info.hpp"
#include "harness/core/memory.hpp"

namespace {

using namespace assay::cli;

int run_program(int count, char** arguments) {
  CLI::App app{"Assay judges quantized converters: programs that turn an ONNX model into an INT8 model or engine.",
               "assay"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("assay ") + assay::core::version());
  app.option_defaults()->always_capture_default();
  Action action;
  for (const Register add : all_commands()) {
    add(app, action);
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
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
