#pragma once

#include "harness/model/graph.hpp"

namespace assay::mutants::test {

/// A Q/DQ artifact written by hand that has a place for every kind of defect: a Conv with per-axis weights and a bias
/// of int32, a LeakyRelu, a Sub of two branches, a Mul by a constant that stayed in float, a Pad, a Transpose and a
/// Softmax.
[[nodiscard]] model::Model small_artifact();
/// The float model that it was made from.
[[nodiscard]] model::Model small_original();
/// A Relu, and an If whose branches negate and double what it gives.
[[nodiscard]] model::Model model_with_branches();

}  // namespace assay::mutants::test
