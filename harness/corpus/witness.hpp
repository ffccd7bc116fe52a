#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/corpus/data_sets.hpp"

namespace assay::corpus {

/// Tensors whose parameters `witness` data of a graph input is made from: the input, and weight and output of each
/// product of it by constant weights.
[[nodiscard]] std::vector<std::string> witness_tensors(const model::Graph& graph, const std::string& input);

/// Values of an input at which the products that read it show the worst that any input of the calibrated range can: in
/// windows that don't overlap, each for one output element, by turns the largest sum, the least, the sum that the
/// input's own rounding moves up and down the farthest, and a sum next to a tie of the output's codes. All but the last
/// follow from the signs of the weights in closed form; the last by the residue of the sum, where `params` tell the
/// scales of weight and output. `typical` elsewhere, and where no Conv, ConvTranspose, Gemm or MatMul reads the input
/// together with a constant.
[[nodiscard]] std::vector<double> witness(const model::Model& model, const InputPlan& plan,
                                          const std::map<std::string, core::QuantParams>& params, core::Rng& rng);

}  // namespace assay::corpus
