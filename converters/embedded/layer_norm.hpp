#pragma once

#include <cstddef>
#include <set>

#include "harness/model/graph.hpp"

namespace assay::embedded {

/// Of every layer normalization that is written out, by index: square, variance, epsilon, root and quotient. Eight bits
/// of variance would decide over every value, so these steps stay in float; mean, difference, and what scales and
/// shifts the quotient do not belong to them.
[[nodiscard]] std::set<std::size_t> layer_normalization_nodes(const model::Graph& graph);

}  // namespace assay::embedded
