#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "results/store.hpp"

namespace assay::report {

/// Verdicts that went wrong alike.
struct Cause {
  std::string what;   ///< "artifact/count", "convert/status at Gemm": stage and facet, and the operator where known
  std::string first;  ///< the message's first line, its names and numbers left open
  std::vector<const results::ResultRow*> rows;   ///< all of them, in their order
  const results::ResultRow* smallest = nullptr;  ///< of the fewest nodes; of these the one with the shortest name
};

/// The verdicts that `wanted` picks, grouped by verdict, stage, facet, operator and message: that is, by their
/// signature, in which names in quotes are left open too. The largest group first. It points into `rows`.
[[nodiscard]] std::vector<Cause> causes_of(std::span<const results::ResultRow> rows,
                                           const std::function<bool(const results::ResultRow&)>& wanted);
/// Those whose gate is red.
[[nodiscard]] std::vector<Cause> red_causes(std::span<const results::ResultRow> rows);

/// The cause of one verdict as a key: equal for verdicts of one group.
[[nodiscard]] std::string cause_key(const results::ResultRow& row);

}  // namespace assay::report
