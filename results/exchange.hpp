#pragma once

#include <cstddef>
#include <iosfwd>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::results {

/// Writes every run with its jobs, verdicts and what was accepted of them as JSON, one object per line, oldest first:
/// for other machines, other shards, and archives. Changes are left out: comparing again finds them.
[[nodiscard]] core::Status export_lines(Store& store, std::ostream& out);

struct ImportCount {
  std::size_t runs = 0;     ///< in the input
  std::size_t results = 0;  ///< that were new
};
/// Adds what export_lines wrote. Importing the same lines twice changes nothing; each run is one transaction, and what
/// was accepted of it another. Errors   invalid_data with the line's number.
[[nodiscard]] core::Result<ImportCount> import_lines(Store& store, std::istream& in);

}  // namespace assay::results
