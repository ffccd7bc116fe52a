#pragma once

#include <filesystem>
#include <vector>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::results {

/// Writes what export_lines() gives of `store` to `file`, compressed as gzip does. A reader sees the whole file or
/// none, also where several machines write it at a time: the last one's stays. It is on the disk when this returns.
/// Errors   io.
[[nodiscard]] core::Status write_lines_file(Store& store, const std::filesystem::path& file);

/// What such a file holds, compressed or not.
/// Errors   io, where it can't be read; invalid_data, where it is damaged or cut short.
[[nodiscard]] core::Result<std::vector<Store::RecordedRun>> read_lines_file(const std::filesystem::path& file);

}  // namespace assay::results
