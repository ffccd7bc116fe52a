#pragma once

#include "harness/judge/alignment/layers.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// γ_K = K·u / (1 − K·u) with float32's u = 2⁻²⁴: the relative error bound of K roundings in a row.
[[nodiscard]] double rounding_gamma(double roundings);

/// Roundings of folding a BatchNormalization in float32: sum, root, quotient, product for the weight; with mean and
/// beta three more for the bias.
inline constexpr double kBiasFoldRoundings = 7;

/// Fills every range's `slack`: how far a float32 execution's extreme may lie from the float64 reference's.
///
/// Formula  a linear node adds γ_K·Σ|w||x| ≤ γ_K·(max over outputs Σ|w|)·max|x| with K its taps; what its inputs
///          already carry goes on in proportion to the tensor's magnitude, so errors sum along the path. Sums,
///          products and normalizations have their own rules, movements pass their input's on (docs/oracle.md).
void add_forward_errors(const model::Model& model, RangeTable& ranges);

}  // namespace assay::judge
