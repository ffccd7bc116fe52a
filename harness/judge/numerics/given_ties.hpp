#pragma once

#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// The largest share of a tensor's elements that lie, as far as float32 can tell, halfway between two values of the
/// quantizer that the model itself gives it: there an engine's own rule decides. `reference` holds the float model's
/// tensors; those that it lacks don't count.
[[nodiscard]] double share_of_ties(const model::Graph& graph, const core::TensorMap& reference);

}  // namespace assay::judge
