#pragma once

#include <filesystem>
#include <string>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::cli {

/// `converter` is "NAME", "NAME@VERSION", or "" for all.
[[nodiscard]] bool by_converter(const results::JobKey& key, const std::string& converter);

/// A complete run of the database: the one whose UUID is `run`, else the newest that has verdicts of `converter`.
/// Errors   usage, where there is none.
[[nodiscard]] core::Result<results::RunInfo> find_run(results::Store& store, const std::filesystem::path& database,
                                                      const std::string& run, const std::string& converter);

}  // namespace assay::cli
