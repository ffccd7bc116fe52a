#pragma once

#include "converters/embedded/state.hpp"

namespace assay::embedded {

/// Rewrites of the float graph, each on its own. `computed_by` of State is kept up to date: who computes the original
/// node now. A rewrite that finds nothing changes nothing.

/// What the options say about a node: its name wins over its operator type, that over "*"; "" where they are silent.
/// A name of an original node that was folded into this one counts as well.
[[nodiscard]] std::string wanted_precision(const State& state, const model::Node& node);

/// The options ask for `node` in float: it isn't taken into another one, nor another one into it.
[[nodiscard]] bool asked_in_float(const State& state, const model::Node& node);

/// Identity, and Dropout outside training, disappear; a graph output keeps its name.
void remove_identities(State& state);
/// Nodes with constant inputs become initializers; DequantizeLinear stays, so that weights stay codes. Who makes a
/// graph output stays too, beside the initializer that the other nodes read.
[[nodiscard]] Status fold_constants(State& state);
/// Gemm's alpha goes into a constant B, its beta into a constant C.
void fold_gemm_factors(State& state);
/// BatchNormalization goes into the Conv, ConvTranspose or Gemm before it, where nobody else reads that; also into
/// the scales of weights that are already quantized.
void fold_batch_normalization(State& state);
/// An Add of one constant per channel behind a Conv or ConvTranspose becomes its bias, as exporters without a bias
/// input write it.
void fold_channel_addends(State& state);
/// x * HardSigmoid(x) and x * Clip(x + 3, 0, 6) / 6 become HardSwish.
void recognize_hard_swish(State& state);

}  // namespace assay::embedded
