#pragma once

#include <span>
#include <vector>

#include "harness/corpus/suite.hpp"
#include "results/store.hpp"

namespace assay::suites {

/// Expected failures that cover the red verdicts of one run, without url: somebody has to say where each is explained.
/// One entry holds all that fails alike: stage, facet and reason (numbers, names and paths left open), over the option
/// sets, the versions of the converter and, where all planned cases of a family do, the family. A crash, timeout or
/// lack of memory has no facet.
[[nodiscard]] std::vector<corpus::ExpectedFailure> draft_expected(std::span<const results::ResultRow> rows);

}  // namespace assay::suites
