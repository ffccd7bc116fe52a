#include "harness/core/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

// Not declared by every libc's <unistd.h> without extensions.
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace assay::core {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

Error cant_start(const std::string& program, std::string_view why) {
  return {ErrorKind::io, fmt::format("can't start \"{}\": {}", program, why), {}, {}, {}};
}

}  // namespace

Result<std::string> find_program(const std::string& program, const std::string& path) {
  if (program.empty()) return Error{ErrorKind::io, "can't start a program without a name", {}, {}, {}};
  std::error_code failed;
  if (program.find('/') != std::string::npos) {
    const fs::path file = fs::absolute(program, failed);
    if (is_program(file)) return file.string();
    const bool exists = fs::exists(file, failed);
    return cant_start(program, exists ? "it isn't an executable file" : "there is no such file");
  }
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path file = fs::absolute(fs::path(path.substr(begin, end - begin)) / program, failed);
    if (is_program(file)) return file.string();
    begin = end + 1;
  }
  return cant_start(program, "no folder of PATH has a program of that name");
}

std::vector<std::string> child_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!added.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::string child_path(const std::map<std::string, std::string>& added) {
  if (const auto it = added.find("PATH"); it != added.end()) return it->second;
  const char* ours = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
  return ours != nullptr ? ours : "/usr/local/bin:/usr/bin:/bin";
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace assay::core
