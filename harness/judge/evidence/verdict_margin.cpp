#include "harness/judge/evidence/verdict_margin.hpp"

#include <algorithm>

namespace assay::judge {

std::optional<double> verdict_margin(const Judgement& judgement) {
  if (std::ranges::all_of(judgement.findings, &Finding::amber)) return judgement.margin;
  if (judgement.margin.value_or(0) > 1) return judgement.margin;
  const auto measured = std::ranges::find_if(
      judgement.findings, [](const Finding& finding) { return !finding.amber && finding.margin > 1; });
  return measured == judgement.findings.end() ? std::nullopt : std::optional(measured->margin);
}

}  // namespace assay::judge
