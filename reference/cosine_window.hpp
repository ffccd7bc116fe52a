#pragma once

#include <array>

#include "reference/op.hpp"

namespace assay::reference {

/// The whole of HannWindow, HammingWindow and BlackmanWindow: a[0] - a[1] cos(2πi / N) + a[2] cos(4πi / N) for i below
/// the size in input 0, where N is the size, or, with periodic 0, one less. A symmetric window of one element, where N
/// would be 0, is 1. Attribute output_datatype, by default float.
[[nodiscard]] Result<std::vector<Tensor>> cosine_window(const OpCall& call, const std::array<double, 3>& a);

/// The rule of all three.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_cosine_window(const ShapeCall& call);

}  // namespace assay::reference
