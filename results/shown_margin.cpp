#include "results/shown_margin.hpp"

#include <algorithm>

namespace assay::results {

std::optional<double> shown_margin(const ResultRow& row) {
  if (std::ranges::all_of(row.findings, &FindingRow::amber)) return row.margin;
  double largest = 0;
  for (const FindingRow& finding : row.findings) {
    if (!finding.amber) largest = std::max(largest, finding.margin);
  }
  return largest > 0 ? std::optional(largest) : std::nullopt;
}

}  // namespace assay::results
