#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "harness/core/result.hpp"

namespace assay::core {

/// Errors   io, saying how much is left, where the file system of `folder` has no room for `bytes` more or for another
///          file, or where a quota forbids it.
[[nodiscard]] Status check_room(const std::filesystem::path& folder, std::uintmax_t bytes);

/// The bytes of all files below `folder`.
[[nodiscard]] std::uintmax_t bytes_below(const std::filesystem::path& folder);

/// The system's words for a file system without room, in what a program says.
[[nodiscard]] bool speaks_of_room(std::string_view text);

}  // namespace assay::core
