#include "harness/judge/evidence/verdict_margin.hpp"

#include <algorithm>

namespace assay::judge {

std::optional<double> verdict_margin(const Judgement& judgement) {
  if (std::ranges::all_of(judgement.findings, &Finding::amber)) return judgement.margin;
  double largest = judgement.margin.value_or(0);
  for (const Metric& metric : judgement.metrics) {
    if (metric.name == "local_margin") largest = std::max(largest, metric.value);
  }
  if (largest > 1) return largest;
  const auto measured = std::ranges::find_if(
      judgement.findings, [](const Finding& finding) { return !finding.amber && finding.margin > 1; });
  return measured == judgement.findings.end() ? std::nullopt : std::optional(measured->margin);
}

}  // namespace assay::judge
