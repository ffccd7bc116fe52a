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
  /// Of each converter the newest versions only, with their newest verdicts; 0: everything, where that isn't too much for
  /// a page (kWholePage), else kNewestVersions.
  std::size_t versions = 0;
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
/// Verdicts that a page holds unasked. A browser reads them all before it shows anything.
inline constexpr std::size_t kWholePage = 150'000;
/// What a page of a larger database holds: the newest version and what changed since the one before. Of the others it
/// counts verdicts.
inline constexpr std::size_t kNewestVersions = 2;

/// Errors   usage, where the database holds no verdict of these converters.
[[nodiscard]] core::Result<ReportData> report_data(results::Store& store, const HtmlScope& scope);

}  // namespace assay::report
