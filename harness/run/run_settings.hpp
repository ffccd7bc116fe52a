#pragma once

#include <string>
#include <vector>

#include "harness/programs/subject.hpp"
#include "harness/run/runner.hpp"

namespace assay::run {

/// All that a run's verdicts depend on, as "name: value" lines: the build, the cases with their options, the converters
/// by command and hash, the expected failures and the limits. Two runs with the same text can be one.
[[nodiscard]] std::string settings_text(const RunConfig& config, const std::vector<programs::Subject>& subjects);

/// What differs between two such texts, one indented line each: "  timeout_s: recorded 60, now 5".
[[nodiscard]] std::string settings_difference(const std::string& recorded, const std::string& now);

}  // namespace assay::run
