#include "harness/programs/environments.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "harness/core/files.hpp"
#include "harness/corpus/state_folder.hpp"

namespace assay::programs {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_in(const fs::path& file) {
  std::vector<std::string> words;
  const core::Result<std::string> content = core::read_file(file);
  std::istringstream text(content ? *content : std::string());
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

}  // namespace

fs::path environments_folder() {
  const char* folder = std::getenv("ASSAY_VENVS");  // NOLINT(concurrency-mt-unsafe): nobody sets it in this process
  return folder != nullptr && *folder != '\0' ? fs::path(folder) : corpus::state_folder() / "venvs";
}

std::vector<Environment> list_environments() {
  std::vector<Environment> environments;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(environments_folder(), code)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && fs::exists(entry.path() / "packages.txt", code)) {
      environments.push_back({name, words_in(entry.path() / "layers.txt")});
    }
  }
  std::ranges::sort(environments, {}, &Environment::name);
  return environments;
}

fs::path home_of_environment(const std::string& name) {
  const fs::path home = environments_folder() / name / "home";
  std::error_code code;
  return fs::is_directory(home, code) && !fs::is_empty(home, code) ? home : fs::path();
}

std::uintmax_t size_of(const Environment& environment) {
  std::uintmax_t bytes = 0;
  std::error_code code;
  for (auto it = fs::recursive_directory_iterator(environments_folder() / environment.name, code);
       !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
    std::error_code missing;
    if (it->is_regular_file(missing) && !it->is_symlink(missing)) bytes += it->file_size(missing);
  }
  return bytes;
}

std::string remove_environment(const Environment& environment) {
  std::error_code code;
  std::filesystem::remove_all(environments_folder() / environment.name, code);
  return code ? code.message() : "";
}

std::vector<Environment> unused_layers() {
  const std::vector<Environment> all = list_environments();
  std::vector<Environment> unused;
  for (const Environment& layer : all) {
    const bool seen = std::ranges::any_of(all, [&](const Environment& other) {
      return std::ranges::find(other.layers, layer.name) != other.layers.end();
    });
    if (layer.is_layer() && !seen) unused.push_back(layer);
  }
  return unused;
}

}  // namespace assay::programs
