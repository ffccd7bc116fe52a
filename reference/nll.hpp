#pragma once

#include "reference/op.hpp"

namespace assay::reference {

/// The losses of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: input 1 names a class for every position of
/// `log_prob` [N, C, d…], input 2 (optional) weighs the classes; attributes ignore_index and reduction.
/// Formula   loss[n, d…] = -log_prob[n, class, d…] * weight[class], 0 where class is ignore_index; `mean` divides the
///           sum by the weights of all positions that are not ignored.
/// Errors    shapes that don't fit; a class outside [0, C).
[[nodiscard]] Result<Tensor> negative_log_likelihood(const OpCall& call, const Tensor& log_prob);

/// The rule of the first output of both.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_nll(const ShapeCall& call);

}  // namespace assay::reference
