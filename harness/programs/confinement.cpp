#include "harness/programs/confinement.hpp"

#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include "harness/core/program.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/environments.hpp"

namespace assay::programs {
namespace fs = std::filesystem;

namespace {

/// A file with its folder, which holds what it loads; the file alone where that folder is a home, or the root.
void add_file(const fs::path& file, std::set<fs::path>& readable) {
  std::error_code code;
  for (const fs::path& path : {fs::absolute(file, code), fs::canonical(file, code)}) {
    const fs::path folder = path.parent_path();
    const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
    const bool wide = !folder.has_relative_path() || folder.parent_path() == "/home" ||
                      (home != nullptr && fs::equivalent(folder, home, code));
    readable.insert(wide ? path : folder);
    // PREFIX/bin/python3 loads PREFIX/lib, whether it is a link into another environment or not.
    if (folder.filename() == "bin" && folder.parent_path().has_relative_path()) {
      readable.insert(
          {folder.parent_path() / "lib", folder.parent_path() / "lib64", folder.parent_path() / "pyvenv.cfg"});
    }
  }
}

void add_list(const char* variable, std::set<fs::path>& readable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(':'));
    if (!entry.empty()) readable.insert(fs::path(entry));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
}

}  // namespace

std::vector<std::string> confined(const std::vector<std::string>& command, const fs::path& job) {
  std::set<fs::path> readable{corpus::home(), environments_folder()};
  add_file(corpus::own_program(), readable);
  if (!command.empty()) {
    if (const auto program = core::find_program(command.front(), core::child_path({}))) add_file(*program, readable);
  }
  for (const std::string& word : command) {
    std::error_code code;
    if (fs::is_directory(word, code)) readable.insert(fs::absolute(word, code));
    if (fs::is_regular_file(word, code)) add_file(word, readable);
  }
  for (const char* variable : {"PYTHONPATH", "LD_LIBRARY_PATH"}) add_list(variable, readable);

  std::vector<std::string> words{corpus::own_program().string(), "confined", "--write", job.string()};
  for (const fs::path& path : readable) words.insert(words.end(), {"--read", path.string()});
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace assay::programs
