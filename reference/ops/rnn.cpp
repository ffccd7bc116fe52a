#include "reference/op_checks.hpp"
#include "reference/recurrent.hpp"

namespace assay::reference {
namespace {

// ONNX RNN-22: Ht = f(Xt·Wiᵀ + Ht-1·Riᵀ + Wbi + Rbi), f by default Tanh.
void rnn_step(const RecurrentCell& cell, std::span<const double> x, std::vector<double>& h,
              std::vector<double>& /*c*/) {
  const std::vector<double> before = h;
  for (std::int64_t i = 0; i < cell.hidden; ++i) {
    h[at(i)] = cell.activations[0](cell.from_input(0, i, x) + cell.from_state(0, i, before));
  }
}

Result<std::vector<Tensor>> run_rnn(const OpCall& call) {
  return run_recurrent(call, {.gates = 1, .activations = {"Tanh"}}, &rnn_step);
}

Result<std::vector<TensorFacts>> infer_rnn(const ShapeCall& call) { return infer_recurrent(call, false); }

}  // namespace

const OpDef& op_rnn() {
  static const OpDef def{
      .name = "RNN", .first_opset = 7, .min_inputs = 3, .max_inputs = 6, .run = &run_rnn, .infer = &infer_rnn};
  return def;
}

}  // namespace assay::reference
