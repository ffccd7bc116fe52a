#include "harness/judge/alignment/layers.hpp"

#include <cmath>

#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/evidence/demands.hpp"

namespace assay::judge {

double LayerContext::threshold() const { return std::sqrt(2 * alarm_exponent(*this, kElementShare)); }

std::shared_ptr<const Alignment> align(const Evidence& evidence, const ArtifactView* artifact) {
  const auto folds = [&](const model::Node& normalization) -> std::optional<bool> {
    if (asked_in_float(evidence, normalization)) return false;
    return evidence.converter.policy.folds_bn;
  };
  return std::make_shared<const Alignment>(Alignment::of(*evidence.model, artifact, folds));
}

}  // namespace assay::judge
