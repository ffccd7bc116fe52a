#include "reference/op_checks.hpp"
#include "reference/recurrent.hpp"

namespace assay::reference {
namespace {

enum Gate : std::int64_t { kInput, kOutput, kForget, kCell };  // the order of W[iofc]; P[iof] has the first three

// ONNX LSTM-22, f by default Sigmoid, g and h Tanh:
//   it = f(Xt·Wiᵀ + Ht-1·Riᵀ + Pi ⊙ Ct-1 + Wbi + Rbi)
//   ft = f(Xt·Wfᵀ + Ht-1·Rfᵀ + Pf ⊙ Ct-1 + Wbf + Rbf), with input_forget 1 - it
//   ct = g(Xt·Wcᵀ + Ht-1·Rcᵀ + Wbc + Rbc)
//   Ct = ft ⊙ Ct-1 + it ⊙ ct
//   ot = f(Xt·Woᵀ + Ht-1·Roᵀ + Po ⊙ Ct + Wbo + Rbo)
//   Ht = ot ⊙ h(Ct)
void step(const RecurrentCell& cell, std::span<const double> x, std::vector<double>& h, std::vector<double>& c,
          bool input_forget) {
  const auto& f = cell.activations[0];
  const auto& g = cell.activations[1];
  const std::vector<double> before = h;
  const auto gate = [&](Gate which, std::int64_t i) {
    return cell.from_input(which, i, x) + cell.from_state(which, i, before);
  };
  const auto peephole = [&](Gate which, std::int64_t i) {
    return cell.peephole[at(which * cell.hidden + i)] * c[at(i)];
  };
  for (std::int64_t i = 0; i < cell.hidden; ++i) {
    const double input = f(gate(kInput, i) + peephole(kInput, i));
    const double forget = input_forget ? 1.0 - input : f(gate(kForget, i) + peephole(kForget, i));
    c[at(i)] = forget * c[at(i)] + input * g(gate(kCell, i));
    h[at(i)] = f(gate(kOutput, i) + peephole(kOutput, i)) * cell.activations[2](c[at(i)]);
  }
}

Result<std::vector<Tensor>> run_lstm(const OpCall& call) {
  const bool input_forget = call.node.int_or("input_forget", 0) != 0;
  return run_recurrent(call, {.gates = 4, .activations = {"Sigmoid", "Tanh", "Tanh"}, .has_cell_state = true},
                       [=](const RecurrentCell& cell, std::span<const double> x, std::vector<double>& h,
                           std::vector<double>& c) { step(cell, x, h, c, input_forget); });
}

Result<std::vector<TensorFacts>> infer_lstm(const ShapeCall& call) { return infer_recurrent(call, true); }

}  // namespace

const OpDef& op_lstm() {
  static const OpDef def{
      .name = "LSTM", .first_opset = 7, .min_inputs = 3, .max_inputs = 8, .run = &run_lstm, .infer = &infer_lstm};
  return def;
}

}  // namespace assay::reference
