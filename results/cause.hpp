#pragma once

#include <string>
#include <string_view>

#include "results/store.hpp"

namespace assay::results {

/// `text` in which names in quotes became "…".
[[nodiscard]] std::string without_names(std::string_view text);

/// What verdicts that went wrong alike have in common: stage, facet, operator, and the message with its names and
/// numbers left open. It has no verdict, since an expected failure and the same one that nobody expects are of one
/// cause. Of several lines the first counts, and the last where it is no detail of the first (these are indented): the
/// end of a traceback says what happened. Empty where nothing is said to be wrong.
[[nodiscard]] std::string cause_of(const ResultRow& row);

}  // namespace assay::results
