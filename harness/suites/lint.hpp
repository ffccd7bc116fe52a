#pragma once

#include <string>
#include <vector>

#include "harness/corpus/case.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::suites {

/// What is wrong with a suite's expected failures, a line each: a word that no verdict can have, a pattern that none of
/// the `selected` cases has, an entry that earlier ones leave nothing to, no url, a date that is over.
[[nodiscard]] std::vector<std::string> lint(const corpus::Suite& suite, const std::vector<corpus::Case>& selected);

}  // namespace assay::suites
