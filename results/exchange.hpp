#pragma once

#include <iosfwd>
#include <vector>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::results {

/// Writes every run with its jobs, verdicts and what was accepted of them as JSON, one object per line, oldest first:
/// for other machines, other shards, and archives. Changes are left out: comparing again finds them.
[[nodiscard]] core::Status export_lines(Store& store, std::ostream& out);

/// What export_lines wrote. Errors   invalid_data with the line's number.
[[nodiscard]] core::Result<std::vector<Store::RecordedRun>> read_lines(std::istream& in);

/// Adds what export_lines wrote, all or nothing. Importing the same lines twice changes nothing.
/// Errors   invalid_data with the line's number; Store::merge's.
[[nodiscard]] core::Result<Store::MergeCount> import_lines(Store& store, std::istream& in);

}  // namespace assay::results
