#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/memory.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/confinement.hpp"

namespace {

using namespace assay::cli;

/// Converters in Python that this program starts can import onnx_assay from its source tree, behind what they import
/// already. An installed program's package is found by its own Python.
void lend_python_package() {
  const std::filesystem::path package = std::filesystem::absolute(assay::corpus::home() / "python");
  std::error_code code;
  if (!std::filesystem::is_regular_file(package / "onnx_assay" / "adapter.py", code)) return;
  const char* given = std::getenv("PYTHONPATH");
  const std::string path =
      given == nullptr || *given == '\0' ? package.string() : std::string(given) + ":" + package.string();
  setenv("PYTHONPATH", path.c_str(), 1);
}

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
  return run_caught([&] {
    lend_python_package();
    assay::programs::set_confining_program(assay::corpus::own_program());
    return run_program(count, arguments);
  });
}
