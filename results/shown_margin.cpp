#include "results/shown_margin.hpp"

#include <algorithm>

namespace assay::results {

std::optional<double> shown_margin(const ResultRow& row) {
  const auto red = [](const FindingRow& finding) { return !finding.amber; };
  if (std::ranges::none_of(row.findings, red)) return row.margin;
  double largest = row.margin.value_or(0);
  for (const MetricRow& metric : row.metrics) {
    if (metric.name == "local_margin") largest = std::max(largest, metric.value);
  }
  if (largest > 1) return largest;
  const auto measured =
      std::ranges::find_if(row.findings, [&](const FindingRow& finding) { return red(finding) && finding.margin > 1; });
  return measured == row.findings.end() ? std::nullopt : std::optional(measured->margin);
}

}  // namespace assay::results
