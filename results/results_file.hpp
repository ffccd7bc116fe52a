#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::results {

/// `verdicts`: what a report shows, findings included; without metrics, parameters and attempts, which are nine tenths
/// of a database and which drift is measured on.
enum class Detail { everything, verdicts };

/// Writes every run of `store`, without changes, as one file for another machine: a compact results database,
/// compressed as gzip does. Errors   io.
[[nodiscard]] core::Status write_results_file(Store& store, const std::filesystem::path& file,
                                              Detail detail = Detail::everything);

/// What a results file holds: one of write_results_file's, or a results database as it is (with the write-ahead log
/// beside it, if a killed run left one). The file stays untouched; older schemas are migrated in a copy.
/// Errors   usage, for a file that is missing, no results database, of a newer schema, damaged, or without any run.
/// `step` is called after each verdict with how many are read and how many there are.
[[nodiscard]] core::Result<std::vector<Store::RecordedRun>> read_results_file(
    const std::filesystem::path& file, const std::function<void(std::size_t done, std::size_t all)>& step = {});

}  // namespace assay::results
