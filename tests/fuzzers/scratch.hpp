#pragma once

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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
  /// Writes the file `name`, anew, and returns its path.
  [[nodiscard]] std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::filesystem::path file = folder_ / name;
    std::FILE* out = std::fopen(file.c_str(), "wb");
    if (out == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size()) std::abort();
    std::fclose(out);
    return file;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace assay::fuzzers
