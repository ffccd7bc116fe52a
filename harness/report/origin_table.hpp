#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/corpus/case.hpp"
#include "results/store.hpp"

namespace assay::report {

/// The newest verdicts of converters, by "NAME VERSION".
using ByConverter = std::map<std::string, std::vector<results::ResultRow>>;

/// Public report → cases → faults → who still has it, in Markdown: a row for each url that `cases` name, sorted. Who
/// still has it is whose newest verdict on one of the cases is red, or an expected failure; only converters of
/// `verdicts` were asked.
[[nodiscard]] std::string origin_table(std::span<const corpus::Case> cases, const ByConverter& verdicts);

}  // namespace assay::report
