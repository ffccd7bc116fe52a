#pragma once

#include "harness/model/graph.hpp"
#include "results/store.hpp"

namespace assay::report {

/// Whether `other` may be nothing but a consequence of `headline`, both findings on `graph`: it is about values
/// (weight, bias, integers, numerics, nan) that are computed with what `headline` finds wrong, at the same node or
/// behind it.
[[nodiscard]] bool may_follow(const model::Graph& graph, const results::FindingRow& headline,
                              const results::FindingRow& other);

}  // namespace assay::report
