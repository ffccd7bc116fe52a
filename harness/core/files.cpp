#include "harness/core/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::core {
namespace fs = std::filesystem;

namespace {
Error io_error(std::string message) { return {ErrorKind::io, std::move(message), {}, {}, {}}; }

/// TMPDIR where it is set; else memory, where there is plenty: a case is dozens of small files, and making them on a
/// disk costs more than converting. Else the system's folder.
fs::path temporary_parent(std::error_code& code) {
  constexpr std::uintmax_t kPlenty = std::uintmax_t{1} << 30U;
  fs::path memory = "/dev/shm";
  if (std::getenv("TMPDIR") == nullptr && fs::space(memory, code).available >= kPlenty && !code &&
      access(memory.c_str(), W_OK) == 0) {
    return memory;
  }
  code.clear();
  return fs::temp_directory_path(code);
}
}  // namespace

Result<std::string> read_file(const fs::path& path, std::uintmax_t limit_bytes) {
  std::error_code code;
  if (!fs::is_regular_file(path, code)) {
    return io_error(fmt::format("\"{}\" is not a readable file", path.string()));
  }
  const std::uintmax_t size = fs::file_size(path, code);
  if (code) {
    return io_error(fmt::format("\"{}\" has no size: {}", path.string(), code.message()));
  }
  if (size > limit_bytes) {
    return io_error(fmt::format("\"{}\" has {} bytes, more than the limit of {}", path.string(), size, limit_bytes));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (!stream || (size > 0 && !stream.read(bytes.data(), static_cast<std::streamsize>(size)))) {
    return io_error(fmt::format("\"{}\" can't be read whole", path.string()));
  }
  return bytes;
}

Status make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) {
    return io_error(fmt::format("\"{}\" can't be made: {}", folder.string(), code.message()));
  }
  return success();
}

Status write_file(const fs::path& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  fs::path temporary = path;
  temporary += fmt::format(".part{}", counter++);
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    stream.close();
    if (!stream) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      return io_error(
          fmt::format("\"{}\" can't be written; is its folder there and the disk not full?", path.string()));
    }
  }
  std::error_code code;
  fs::rename(temporary, path, code);
  if (code) {
    return io_error(fmt::format("\"{}\" can't be written: {}", path.string(), code.message()));
  }
  return success();
}

Result<TemporaryFolder> TemporaryFolder::create() {
  std::error_code code;
  fs::path pattern = temporary_parent(code);
  if (code) {
    return io_error(fmt::format("no temporary folder: {}; set TMPDIR", code.message()));
  }
  pattern /= "assay-XXXXXX";
  std::string name = pattern.string();
  if (mkdtemp(name.data()) == nullptr) {
    return io_error(fmt::format("no folder can be made like \"{}\"; set TMPDIR to a writable folder", name));
  }
  return TemporaryFolder(fs::path(name));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace assay::core
