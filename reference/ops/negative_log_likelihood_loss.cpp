#include "reference/arguments.hpp"
#include "reference/nll.hpp"

namespace assay::reference {
namespace {

// ONNX NegativeLogLikelihoodLoss-13 (ignore_index, reduction): the scores are log probabilities already.
Result<std::vector<Tensor>> run_negative_log_likelihood_loss(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  return single_output(negative_log_likelihood(call, call.in(0)));
}

}  // namespace

const OpDef& op_negative_log_likelihood_loss() {
  static const OpDef def{.name = "NegativeLogLikelihoodLoss",
                         .first_opset = 12,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_negative_log_likelihood_loss,
                         .infer = &infer_nll};
  return def;
}

}  // namespace assay::reference
