#include "harness/core/staging.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "harness/core/files.hpp"

namespace assay::core {
namespace fs = std::filesystem;

namespace {

core::Error io_error(const fs::path& path, const std::error_code& code) {
  return {core::ErrorKind::io, fmt::format("\"{}\": {}", path.string(), code.message()), {}, {}, {}};
}

}  // namespace

Staging::Staging(fs::path path, fs::path target) : path_(std::move(path)), target_(std::move(target)) {}

Staging::Staging(Staging&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())), target_(std::move(other.target_)) {}

Staging::~Staging() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

core::Result<Staging> Staging::create(const fs::path& target) {
  std::error_code code;
  const fs::path place = fs::absolute(target, code).lexically_normal();
  const fs::path wanted = place.has_filename() ? place : place.parent_path();
  if (fs::exists(wanted, code) && !(fs::is_directory(wanted, code) && fs::is_empty(wanted, code))) {
    return core::Error{core::ErrorKind::usage,
                       fmt::format("\"{}\" exists already; name a folder that doesn't", target.string()),
                       {},
                       {},
                       {}};
  }
  const fs::path path = wanted.parent_path() / fmt::format(".{}.{}", wanted.filename().string(), ::getpid());
  if (core::Status status = core::make_folder(path); !status) return status.error();
  return Staging(path, wanted);
}

core::Status Staging::commit() {
  std::error_code code;
  if (fs::remove(target_, code); !code) fs::rename(path_, target_, code);  // an empty folder makes room
  if (code) return io_error(target_, code);
  path_.clear();
  return core::success();
}

}  // namespace assay::core
