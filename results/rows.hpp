#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "results/database.hpp"
#include "results/store.hpp"

namespace assay::results {

/// Writes one verdict and all its children; inside the caller's transaction.
[[nodiscard]] core::Status insert_result(Database& database, const std::string& run, const ResultRow& row);

/// A run's verdicts in the order of its plan, those whose case name matches `case_pattern`.
[[nodiscard]] core::Result<std::vector<ResultRow>> read_results(Database& database, const std::string& run,
                                                                const std::string& case_pattern = "*");

/// The same, one at a time, each with its number in this database.
[[nodiscard]] core::Status each_result(Database& database, const std::string& run, const std::string& case_pattern,
                                       const std::function<void(std::int64_t id, ResultRow row)>& take);

/// One verdict with its parameters and none of its other children: what drift compares.
[[nodiscard]] core::Result<ResultRow> read_measurement(Database& database, std::int64_t id);

}  // namespace assay::results
