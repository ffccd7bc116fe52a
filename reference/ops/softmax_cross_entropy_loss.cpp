#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/nll.hpp"
#include "reference/shape_rules.hpp"
#include "reference/softmax.hpp"

namespace assay::reference {
namespace {

// ONNX SoftmaxCrossEntropyLoss-13 (ignore_index, reduction): the negative log likelihood of log(Softmax(scores)) over
// axis 1, which is output 1.
Result<std::vector<Tensor>> run_softmax_cross_entropy_loss(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& scores = call.in(0);
  if (scores.rank() < 2) return op_error(fmt::format("scores are {}, expected [N, C, …]", tensor_text(scores)));
  Tensor log_prob = softmax_of(scores, split_at_axis(scores.shape(), 1), true);
  auto loss = negative_log_likelihood(call, log_prob);
  if (!loss) return loss.error();
  return std::vector{std::move(*loss), std::move(log_prob)};
}

Result<Facts> infer_softmax_cross_entropy_loss(const ShapeCall& call) {
  auto loss = infer_nll(call);
  if (loss) loss->push_back(typed(call.in(0).type, call.in(0).shape));
  return loss;
}

}  // namespace

const OpDef& op_softmax_cross_entropy_loss() {
  static const OpDef def{.name = "SoftmaxCrossEntropyLoss",
                         .first_opset = 12,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_softmax_cross_entropy_loss,
                         .infer = &infer_softmax_cross_entropy_loss};
  return def;
}

}  // namespace assay::reference
