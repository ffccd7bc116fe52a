#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// What holds for every input within its codes' range, of each Conv, ConvTranspose, Gemm and MatMul that the artifact
/// computes from quantized data and a constant weight, in closed form from its own numbers:
///
///     |quantized − float| ≤ Σ|ŵ|·s_x/2 + Σ|ŵ − w|·max|x| + |b̂ − b| + s_y/2
///
/// of the worst output channel, as far as its sums stay within the output's codes. None of a node whose weight is not
/// the original's, or whose output is another tensor by then: what was folded into it has other float values.
[[nodiscard]] std::vector<Certificate> certify(const LayerContext& context);

}  // namespace assay::judge
