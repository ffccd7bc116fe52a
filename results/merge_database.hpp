#pragma once

#include <filesystem>

#include "harness/core/result.hpp"
#include "results/database.hpp"
#include "results/store.hpp"

namespace assay::results {

/// Adds all that `theirs` holds, a database of the newest schema, in one transaction: what Store::merge() does with
/// runs in memory, by tables. Numbers of theirs are translated into ours; changes and scores stay there. Errors   io,
/// where a table isn't as the schema has it, or refers to what isn't there; nothing is added then.
[[nodiscard]] core::Result<Store::MergeCount> merge_database(Database& database, const std::filesystem::path& theirs);

/// Deletes what no verdict, run or anchor refers to: texts, outcomes, cases, converters, machines, expected failures.
/// Inside the caller's transaction.
[[nodiscard]] core::Status drop_unused(Database& database);

}  // namespace assay::results
