#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/mutants/artifact_bench.hpp"

namespace assay::mutants {

/// By how much each output of an artifact moves where its last quantizer moves by one step.
///
/// Behind a DequantizeLinear that is its scale (the least, where channels have their own). Behind operators that run in
/// float it is what comes out at the output when every element of the last dequantized tensors before it is moved by
/// one step up or down, drawn at random: the root mean square over the output, the largest of the data sets; at least
/// what float32 rounds away, 2⁻¹⁸ of the largest magnitude. Integers have a step of 1.
[[nodiscard]] std::map<std::string, double> output_steps(ArtifactBench& bench, const Baseline& plain);

/// Whether some output lies half a step or more from the plain one, or has another name, type or shape.
[[nodiscard]] bool is_visible(const std::vector<core::TensorMap>& plain, const std::vector<core::TensorMap>& changed,
                              const std::map<std::string, double>& steps);

}  // namespace assay::mutants
