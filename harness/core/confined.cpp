#include "harness/core/confined.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

#include "harness/core/files.hpp"

namespace assay::core {
namespace fs = std::filesystem;

namespace {

Error refused(const fs::path& path, std::string_view why) {
  return {ErrorKind::invalid_data, fmt::format("\"{}\" {}", path.string(), why), {}, {}, {}};
}

Status copy_file(const fs::path& from, const fs::path& to, const fs::path& root) {
  std::error_code code;
  const fs::path real = fs::canonical(from, code);
  if (code || !is_below(real, root)) return refused(from, "is a link that leads out of its folder, or nowhere");
  if (!fs::is_regular_file(real, code)) {
    return refused(from, fs::is_directory(real, code) ? "is a link to a folder, which isn't followed"
                                                      : "is neither a file nor a folder");
  }
  fs::copy_file(real, to, code);
  return code ? Status(io_error(fmt::format("\"{}\": {}", from.string(), code.message()))) : success();
}

}  // namespace

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

Result<fs::path> confined_path(const fs::path& folder, const fs::path& name) {
  std::error_code code;
  const fs::path root = fs::weakly_canonical(folder, code);
  const fs::path path = code ? fs::path() : fs::weakly_canonical(folder / name, code);
  if (code || !is_below(path, root)) {
    return refused(name, fmt::format("lies outside of \"{}\"", folder.string()));
  }
  return folder / name;
}

Status copy_tree(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (from.empty() || !fs::exists(from, code)) return success();
  const fs::path root = fs::canonical(from, code);
  if (code) return io_error(fmt::format("\"{}\": {}", from.string(), code.message()));
  if (Status status = make_folder(to.parent_path()); !status) return status;
  if (!fs::is_directory(root, code)) return copy_file(from, to, root);
  if (Status status = make_folder(to); !status) return status;
  fs::recursive_directory_iterator entry(root, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    const fs::path target = to / entry->path().lexically_relative(root);
    const bool folder = entry->symlink_status(code).type() == fs::file_type::directory;
    if (Status status = folder ? make_folder(target) : copy_file(entry->path(), target, root); !status) return status;
  }
  return code ? Status(io_error(fmt::format("\"{}\": {}", from.string(), code.message()))) : success();
}

}  // namespace assay::core
