#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/evidence/code_tensors.hpp"

namespace assay::judge {

struct IntegerFindings {
  std::vector<Finding> findings;
  CertainCodes certain_codes;
};
/// L1: the artifact's own graph in exact arithmetic; `prepared` is null where there is none, or it can't be walked.
/// Findings carry layer "L1"; sets `out.style`, adds metrics and "L1" to `out.layers` where it applied. `executions`
/// are those of `context.evidence`: where their outputs alone don't settle every node, the converter is asked for
/// traces, which stay there.
[[nodiscard]] IntegerFindings check_integers(const LayerContext& context, const PreparedArtifact* prepared,
                                             std::vector<Execution>& executions, Judgement& out);

}  // namespace assay::judge
