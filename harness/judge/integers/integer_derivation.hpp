#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/integers/integer_compare.hpp"

namespace assay::judge {

/// Derives one element of an artifact from exact arithmetic under the style that explains the executions: of those
/// whose codes can be seen, the one whose value lies nearest to a tie, where the rule of rounding decides. Nothing
/// where none can be seen.
[[nodiscard]] std::optional<IntegerDerivation> derive_nearest_tie(const LayerContext& context,
                                                                  const PreparedArtifact& artifact,
                                                                  const std::vector<Execution*>& executions,
                                                                  const Style& style);

/// The same for the element of `comparison` that lies furthest outside.
[[nodiscard]] IntegerDerivation derive_difference(const LayerContext& context, const PreparedArtifact& artifact,
                                                  const Execution& execution, const Style& style,
                                                  const Comparison& comparison);

}  // namespace assay::judge
