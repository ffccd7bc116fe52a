#include "harness/judge/alignment/layers.hpp"

#include <cmath>

#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/artifact/written_out.hpp"
#include "harness/judge/evidence/demands.hpp"

namespace assay::judge {

double LayerContext::threshold() const { return std::sqrt(2 * alarm_exponent(*this, kElementShare)); }

namespace {

/// As the artifact shows it, or as it follows from what is asked for: what a weight in codes is multiplied with.
std::vector<std::size_t> dynamic_inputs(const Evidence& evidence, const Alignment& alignment,
                                        const Alignment::Operation& entry) {
  std::vector<std::size_t> inputs;
  // What isn't found in an artifact, or stays on codes there, runs in a form that nobody reads.
  const bool read =
      entry.made != nullptr && !is_on_codes(alignment.artifact->artifact().graph.nodes[entry.made->index]);
  if (read) {
    for (std::size_t i = 0; i < entry.made->inputs.size(); ++i) {
      if (entry.made->inputs[i].dynamic && i < entry.node.inputs.size()) inputs.push_back(i);
    }
    return inputs;
  }
  const auto slots = weight_slots(entry.node, alignment.constants);
  const model::Node& node = alignment.original->graph.nodes[entry.original];
  if (!evidence.options.dynamic || !slots || !demanded_precision(evidence, node) || keeps_weight(evidence, node))
    return inputs;
  return {slots->weight == 0 ? std::size_t{1} : std::size_t{0}};
}

}  // namespace

std::shared_ptr<const Alignment> align(const Evidence& evidence, const ArtifactView* artifact,
                                       const SupposesFolded& supposed) {
  const auto folds = [&](const model::Node& normalization) -> std::optional<bool> {
    if (asked_in_float(evidence, normalization)) return false;
    return evidence.converter.policy.folds_bn;
  };
  auto alignment = std::make_shared<Alignment>(Alignment::of(*evidence.model, artifact, folds, supposed));
  for (Alignment::Operation& entry : alignment->operations) entry.dynamic = dynamic_inputs(evidence, *alignment, entry);
  return alignment;
}

}  // namespace assay::judge
