#include "harness/score/share.hpp"

namespace assay::score {

using converters::ArtifactKind;

double least_share(ArtifactKind kind) {
  return kind == ArtifactKind::qdq ? 100 : kind == ArtifactKind::scales ? 95 : 85;
}

Share share_of(const ScoreReport& report, ArtifactKind kind) {
  Share share;
  for (const auto& [fault, score] : report.kinds.at(kind)) {
    share.faults += score.observable() ? 1U : 0U;
    share.killed += score.killed() ? 1U : 0U;
  }
  return share;
}

std::vector<std::string> unseen(const ScoreReport& report, ArtifactKind kind) {
  std::vector<std::string> names;
  for (const std::string& fault : report.faults) {
    const auto score = report.kinds.at(kind).find(fault);
    if (score == report.kinds.at(kind).end() || !score->second.observable()) names.push_back(fault);
  }
  return names;
}

bool is_red(const ScoreReport& report, const std::vector<ArtifactKind>& kinds, bool whole) {
  bool red = !report.false_alarms.empty() || !report.broken_claims.empty() ||
             (whole && !(report.idle_cases.empty() && report.unclaimed.empty())) ||
             !unseen(report, kinds.front()).empty();
  for (const ArtifactKind kind : kinds) red = red || share_of(report, kind).percent() < least_share(kind);
  return red;
}

}  // namespace assay::score
