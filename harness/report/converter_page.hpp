#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::report {

/// The newest verdict of every series by each version of one converter.
/// Errors   usage, where the database holds no verdict of that converter.
[[nodiscard]] core::Result<results::Store::NewestVerdicts> verdicts_of(results::Store& store,
                                                                       const std::string& converter);

/// What a converter did, in Markdown: verdicts by version, then what is neither pass nor unsupported, grouped by stage,
/// facet, operator and message (numbers and paths left open), the largest group first, with the versions that show it
/// and the shortest case name as an example.
[[nodiscard]] std::string converter_page(const results::Store::NewestVerdicts& verdicts);

/// For each version that was several programs in its newest run, a paragraph that says so; "" where none was.
[[nodiscard]] core::Result<std::string> programs_note(results::Store& store, const std::string& converter,
                                                      const results::Store::NewestVerdicts& verdicts);

/// `page` with what stands between its two marks replaced by `generated`; both marks and `generated` at the end of a
/// page that has none. Errors   invalid_data, where one of the marks is missing.
[[nodiscard]] core::Result<std::string> with_generated(const std::string& page, const std::string& generated);

}  // namespace assay::report
