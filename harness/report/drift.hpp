#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "results/drift.hpp"

namespace assay::report {

/// What drifted, one verdict after the other, each of its changes on a line of its own; "" for nothing.
[[nodiscard]] std::string drifted_text(const results::DriftReport& report);

/// How many verdicts became what, "9 xfail → pass, 2 with the same verdict"; "" for nothing.
[[nodiscard]] std::string verdict_changes(const results::DriftReport& report);

/// The signed-rank test of each converter's suite in a line: families moved, median, p, and what follows from it; ""
/// where no family moved.
[[nodiscard]] std::string suites_text(const results::DriftReport& report);

/// The families whose SQNR moved or that have a changed verdict, as a table; how many didn't, below it.
[[nodiscard]] std::string families_table(const results::DriftReport& report);

/// The same facts: compared, changed, edited, unmet, changes and suites.
[[nodiscard]] nlohmann::ordered_json drift_json(const results::DriftReport& report);

}  // namespace assay::report
