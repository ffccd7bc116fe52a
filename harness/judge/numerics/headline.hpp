#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/judge/quantization/grounds.hpp"

namespace assay::judge {

/// Whether the data sets are as good as each other, so that a figure goes over all of them: the user's are. Of
/// generated ones only `typical` is like what was calibrated.
[[nodiscard]] bool are_alike(const Evidence& evidence);

/// What a reader wants to know first, whatever the order of the data sets.
///
/// Metrics  by output, with no data set: `sqnr_db` over all data sets together, where there are several. Of the output
///          where it is least: `whole_sqnr_db`, the same, and `worst_sqnr_db`, with the data set that has it.
///          With `grounds` (may be null) `predicted_sqnr_db` of each other data set than `typical`, and over all of
///          them.
[[nodiscard]] std::vector<Metric> measure_headline(const LayerContext& context, Grounds* grounds);

}  // namespace assay::judge
