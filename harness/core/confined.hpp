#pragma once

#include <filesystem>

#include "harness/core/result.hpp"

namespace assay::core {

/// Whether `path` is `folder` or in it; both without links and dots.
[[nodiscard]] bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder);

/// The path that somebody else names as one below `folder`: `name` may be absolute or relative to it. What is there is
/// followed; what would be outside, by its name or by a link, is refused.
/// Errors   invalid_data.
[[nodiscard]] Result<std::filesystem::path> confined_path(const std::filesystem::path& folder,
                                                          const std::filesystem::path& name);

/// Copies a file, or a folder with everything in it, to `to`; a folder may be there already. Nothing where `from` is
/// missing. `from` may be a link; links in it are followed where they lead to a file in it, else refused, as is what is
/// neither file nor folder.
/// Errors   invalid_data; io.
[[nodiscard]] Status copy_tree(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace assay::core
