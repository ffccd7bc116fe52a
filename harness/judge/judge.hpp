#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "harness/core/quant_params.hpp"
#include "harness/judge/evidence/evidence.hpp"
#include "harness/judge/evidence/explanation.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// Results of the float reference that option sets of a case share: keyed by what was fed. Thread-compatible.
class ReferenceCache;
[[nodiscard]] std::shared_ptr<ReferenceCache> make_reference_cache();

/// Judges one conversion with its executions. Deterministic. The run's false-alarm probability is shared evenly among
/// its `planned_verdicts`, and in each among the elements that it judges. Where the outputs alone don't settle what
/// happened inside, it asks for traces and leaves them in `evidence`.
[[nodiscard]] Judgement judge(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts,
                              Depth depth = Depth::full);

/// The same in full, and where its numbers come from.
struct Explained {
  Judgement judgement;
  Explanation explanation;
};
[[nodiscard]] Explained explain(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts);

/// L0 alone, by the same code: a Q/DQ artifact, or a table of scales in evidence.conversion.tensors (artifact kind
/// "scales"). Executions need no outputs; their inputs are data to weigh a narrow Concat on.
[[nodiscard]] Judgement audit(Evidence& evidence, ReferenceCache& cache, std::size_t planned_verdicts);

/// The parameters the harness itself derives (min-max) for each graph input: what `ties` data is made from when the
/// artifact's own are unknown.
[[nodiscard]] std::map<std::string, core::QuantParams> audited_input_params(const Evidence& evidence);

/// The parameters that a Q/DQ or QOperator artifact declares of the original's tensors, weights and outputs among them;
/// of several for one tensor, the first. Empty without an artifact that can be read.
[[nodiscard]] std::map<std::string, core::QuantParams> artifact_params(const Evidence& evidence);

}  // namespace assay::judge
