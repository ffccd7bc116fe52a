#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/evidence/explanation.hpp"
#include "harness/judge/integers/taps.hpp"
#include "harness/judge/numerics/bound_compare.hpp"
#include "harness/judge/quantization/bound_walk.hpp"

namespace assay::judge {

/// The element of one walk that comes nearest to its limit, and why its limit is what it is.
class NearestElement {
 public:
  struct Candidate {
    const Alignment::Operation* entry = nullptr;  ///< null for a graph input
    std::string tensor;
    Excess excess;
    core::TensorPtr centre;
    /// What became of the enclosure that the walk gave, step by step; the last one is what was compared with.
    std::vector<std::pair<std::string, Enclosure>> stages;
  };
  /// Keeps the candidate with the largest margin; a graph input only if it is beyond its limit.
  void see(Candidate candidate);

  /// The walk that the candidates come from, to be walked again with fewer sources of error.
  struct Walked {
    const LayerContext& context;
    const QuantizationPlan& plan;
    const Execution& execution;
    const BoundWalk::Known& known;  ///< empty: end to end
    const CodeLookup& codes;        ///< empty: end to end
    EngineRoundings roundings = {};
  };
  /// Writes the derivation into the context's explanation where it is nearer than the one there. Forgets the candidate.
  void derive(const Walked& walked);

 private:
  std::optional<Candidate> nearest_;
};

}  // namespace assay::judge
