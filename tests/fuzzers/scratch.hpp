#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace assay::fuzzers {

/// A folder of this process, in memory, for readers that take files.
class Scratch {
 public:
  Scratch() : folder_("/dev/shm/assay-fuzz-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    static const std::filesystem::path mine = folder_;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(mine, ignored);
    });
  }
  /// Gives the file `name` these bytes and no others, and returns its path. It stays open from one input to the next:
  /// making it anew costs more than most readers do. Whoever reads it must not replace or remove it.
  [[nodiscard]] const std::filesystem::path& write(const std::string& name, std::string_view bytes) const {
    auto [entry, is_new] = open_.try_emplace(name);
    Open& file = entry->second;
    if (is_new) {
      constexpr mode_t kReadableByAll = 0666;
      file.path = folder_ / name;
      file.number = open(file.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kReadableByAll);
    }
    if (ftruncate(file.number, static_cast<off_t>(bytes.size())) != 0 ||
        pwrite(file.number, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
    return file.path;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Open {
    std::filesystem::path path;
    int number = -1;
  };
  std::filesystem::path folder_;
  mutable std::map<std::string, Open> open_;
};

}  // namespace assay::fuzzers
