#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/judge/evidence/verdict.hpp"
#include "results/store.hpp"

namespace assay::report {

/// Verdicts that went wrong alike.
struct Cause {
  std::string what;  ///< "artifact/count", "convert/status at Gemm": stage and facet, the operator where known, and
                     ///< how the message begins where others have the same
  std::vector<const results::ResultRow*> rows;   ///< all of them, in their order
  const results::ResultRow* smallest = nullptr;  ///< of the fewest nodes; of these the one with the shortest name
};

/// The verdicts of `gate`, grouped by results::cause_of(). The largest group first. It points into `rows`.
[[nodiscard]] std::vector<Cause> causes_of(std::span<const results::ResultRow> rows, judge::Gate gate);

}  // namespace assay::report
