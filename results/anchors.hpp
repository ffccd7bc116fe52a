#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "results/database.hpp"
#include "results/store.hpp"

namespace assay::results {

// Anchors and changes behind Store's methods of these names; each inside the caller's transaction or a single read.

[[nodiscard]] core::Status insert_anchor(Database& database, const std::string& run, const JobKey& key,
                                         const std::string& accepted_at, const std::string& reason);
[[nodiscard]] core::Result<std::vector<AnchorRow>> read_anchors(Database& database);
[[nodiscard]] core::Result<std::vector<AnchorRow>> read_anchors_of_version(Database& database,
                                                                           const std::string& converter,
                                                                           const std::string& version);
[[nodiscard]] core::Result<std::vector<ResultRow>> read_newest_results(Database& database, const std::string& converter,
                                                                       const std::string& version);
/// The numbers of the newest verdicts of each case name and option set by a version: an edited case counts with its
/// newest content.
[[nodiscard]] core::Result<std::vector<std::int64_t>> newest_ids(Database& database, const std::string& converter,
                                                                 const std::string& version);
[[nodiscard]] core::Result<std::vector<AcceptedRow>> read_accepted(Database& database, const std::string& run);
/// Takes an anchor over from another database: does nothing where the same verdict was accepted at the same time for
/// the same reason.
[[nodiscard]] core::Status merge_anchor(Database& database, const std::string& run, const AcceptedRow& row);
[[nodiscard]] core::Status insert_change(Database& database, const std::string& run, const ChangeRow& change);
[[nodiscard]] core::Result<std::vector<ChangeRow>> read_changes(Database& database, const std::string& run);

}  // namespace assay::results
