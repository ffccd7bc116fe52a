#pragma once

#include <span>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// Where accuracy is lost: the artifact runs in the reference, and each tensor of the original is compared with what
/// the artifact's operators read for it, behind its quantizers, and at the graph's outputs with what the converter's
/// executor gave. Over all data sets where they are the user's, else on the first (headline.hpp).
///
/// Metrics  `sqnr_db` of every such tensor that is no output; with no data set where several were added up.
///          `sqnr_loss_db`, what was lost at the node that makes it: the SQNR that its float64 operation has on what
///          the artifact reads for its inputs, less its own. A tensor that no operator of the artifact reads (folded,
///          fused, a Relu that became the clipping of codes) stands for what it is made from. `inner_deviation_db`,
///          SQNR before its own rounding less the predicted one, on the first data set, where `known` holds the
///          tensor's predicted_sqnr_db.
/// Nothing where the artifact is not Q/DQ or does not run.
[[nodiscard]] std::vector<Metric> measure_losses(const LayerContext& context, std::span<const Metric> known);

}  // namespace assay::judge
