#pragma once

#include <span>
#include <string>

#include "harness/corpus/case.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::report {

/// The defects that were found in released converters, in Markdown: a row for each family of `cases`, sorted, with what
/// its origins say and who is red on it by the expected failures of `suites` — every version that was judged, or those
/// that the entries name. The embedded converter's variants are left out.
[[nodiscard]] std::string found_table(std::span<const corpus::Case> cases, std::span<const corpus::Suite> suites);

}  // namespace assay::report
