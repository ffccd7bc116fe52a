#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/core/result.hpp"
#include "results/store.hpp"

namespace assay::report {

/// Of which converters a report is; all where none is named.
struct HtmlScope {
  std::vector<std::string> converters;
  std::string database;         ///< as the reader named it, for the commands that the page shows
  std::string run;              ///< of this run alone; empty: of all
  std::string assay = "assay";  ///< how the commands that the page shows begin
};

/// What a report's page reads. `table` is JSON with every verdict as numbers in columns (page/data.js says which).
/// `parts` hold what belongs to each: packed JSON by the id of its script element; "p0" has that of the first kPartRows
/// verdicts, and so on; "d7" has what was kept of verdict 7 for drawing.
struct ReportData {
  std::string table;
  std::vector<std::pair<std::string, std::string>> parts;
};
inline constexpr std::size_t kPartRows = 128;

/// Errors   usage, where the database holds no verdict of these converters.
[[nodiscard]] core::Result<ReportData> report_data(results::Store& store, const HtmlScope& scope);

}  // namespace assay::report
