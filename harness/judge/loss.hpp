#pragma once

#include <span>
#include <vector>

#include "harness/judge/layers.hpp"
#include "harness/judge/verdict.hpp"

namespace assay::judge {

/// Where accuracy is lost: the artifact runs in the reference on the first data set, and each tensor that it shares by
/// name with the original is compared with the float64 reference.
///
/// Metrics  `sqnr_db` of every shared tensor that is no output (outputs are measured on what the converter's executor
///          gave); `sqnr_loss_db`, by how much a tensor is worse than the worst of the tensors it is made from.
///          `inner_deviation_db`, SQNR less the predicted one, where `known` holds the tensor's predicted_sqnr_db.
///          A tensor that the artifact does not hold (folded, fused) stands for what it is made from.
/// Nothing where the artifact is not Q/DQ or does not run.
[[nodiscard]] std::vector<Metric> measure_losses(const LayerContext& context, std::span<const Metric> known);

}  // namespace assay::judge
