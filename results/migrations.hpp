#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "harness/core/result.hpp"
#include "results/database.hpp"

namespace assay::results {

/// The schema that this program writes; older ones are migrated step by step, newer ones refused.
[[nodiscard]] std::int64_t newest_schema();

/// Why this can't be a results database of ours, "" where it can: another kind of file, another program's database, a
/// newer schema. Nothing is written to it. A missing or empty file is fine.
[[nodiscard]] std::string file_fault(const std::filesystem::path& file);
/// Refuses what has a file_fault().
[[nodiscard]] core::Status check_file(const std::filesystem::path& file);

/// Brings the schema up to date, every step in a transaction of its own.
[[nodiscard]] core::Status migrate(Database& database);

}  // namespace assay::results
