#include "harness/core/room.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <system_error>

#include "harness/core/files.hpp"

namespace assay::core {
namespace fs = std::filesystem;

namespace {

/// Enough for a model and some tensors of a small case: whoever can't write that is out of room.
constexpr std::size_t kProbeBytes = std::size_t{64} << 10U;

Error no_room(const fs::path& folder, std::uintmax_t left_bytes, std::uintmax_t left_files) {
  return {
      ErrorKind::io,
      fmt::format("the temporary folder \"{}\" is full: {} bytes and {} files are left; make room, or set TMPDIR to "
                  "a folder with more",
                  folder.parent_path().string(), left_bytes, left_files),
      {},
      {},
      {}};
}

}  // namespace

Status check_room(const fs::path& folder, std::uintmax_t bytes) {
  struct statvfs state {};
  if (::statvfs(folder.c_str(), &state) != 0) {
    return Error{ErrorKind::io, fmt::format("the temporary folder \"{}\" is gone", folder.string()), {}, {}, {}};
  }
  const std::uintmax_t left_bytes = std::uintmax_t{state.f_bavail} * state.f_frsize;
  const bool counts_files = state.f_files > 0;
  if (left_bytes < bytes || (counts_files && state.f_favail == 0)) {
    return no_room(folder, left_bytes, state.f_favail);
  }
  const fs::path probe = folder / "room";  // a quota shows in nothing but this
  const Status written = write_file(probe, std::string(kProbeBytes, '\xa5'));
  ::unlink(probe.c_str());
  return written ? success() : Status(no_room(folder, left_bytes, state.f_favail));
}

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code code;
  for (auto it = fs::recursive_directory_iterator(folder, code); !code && it != fs::recursive_directory_iterator();
       it.increment(code)) {
    std::error_code missing;
    const std::uintmax_t size = it->is_regular_file(missing) ? it->file_size(missing) : 0;
    if (!missing) bytes += size;
  }
  return bytes;
}

bool speaks_of_room(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords{"no space left on device", "disk quota exceeded", "enospc"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace assay::core
