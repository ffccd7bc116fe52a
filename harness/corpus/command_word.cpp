#include "harness/corpus/command_word.hpp"

#include <cstdlib>

#include "harness/core/program.hpp"
#include "harness/core/shell.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::corpus {
namespace {

namespace fs = std::filesystem;

std::string given(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it in this process
  return value != nullptr ? value : "";
}

}  // namespace

fs::path own_program() {
  if (std::string program = given("ASSAY_PROGRAM"); !program.empty()) return program;
  std::error_code code;
  const fs::path path = fs::read_symlink("/proc/self/exe", code);
  return code ? fs::path("assay") : path;
}

std::string command_word() {
  if (std::string command = given("ASSAY_COMMAND"); !command.empty()) return command;
  std::error_code code;
  const fs::path program = own_program();
  if (given("ASSAY_PROGRAM").empty() && fs::is_regular_file(home() / "assay", code)) return "./assay";
  const core::Result<std::string> found = core::find_program("assay", core::child_path({}));
  return found && fs::equivalent(*found, program, code) ? "assay" : core::shell_quoted(program.string());
}

}  // namespace assay::corpus
