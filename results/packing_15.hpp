#pragma once

#include "harness/core/result.hpp"
#include "results/database.hpp"

namespace assay::results {

/// Step 15 of the schema (migrations.cpp): from a row for each metric, parameter, finding and so on to the tables that
/// docs/database.md explains. Inside the caller's transaction. Like every step it isn't edited once released.
[[nodiscard]] core::Status pack_verdicts_15(Database& database);

}  // namespace assay::results
