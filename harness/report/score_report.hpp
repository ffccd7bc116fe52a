#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/score/false_alarms.hpp"
#include "harness/score/score.hpp"

namespace assay::report {

/// What `score --json` says of the faults, at these artifact kinds.
[[nodiscard]] nlohmann::ordered_json score_json(const score::ScoreReport& report,
                                                const std::vector<converters::ArtifactKind>& kinds);
/// Adds what it says of the correct variants.
void add_variants(nlohmann::ordered_json& json, const score::FalseAlarmReport& report);

/// The same as tables. `whole`: see score::is_red().
[[nodiscard]] std::string score_text(const score::ScoreReport& report,
                                     const std::vector<converters::ArtifactKind>& kinds, bool whole);
[[nodiscard]] std::string alarms_text(const score::FalseAlarmReport& report);

}  // namespace assay::report
