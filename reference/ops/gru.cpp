#include "reference/op_checks.hpp"
#include "reference/recurrent.hpp"

namespace assay::reference {
namespace {

enum Gate : std::int64_t { kUpdate, kReset, kHidden };  // the order of W[zrh]

// ONNX GRU-22, f by default Sigmoid, g Tanh:
//   zt = f(Xt·Wzᵀ + Ht-1·Rzᵀ + Wbz + Rbz)
//   rt = f(Xt·Wrᵀ + Ht-1·Rrᵀ + Wbr + Rbr)
//   ht = g(Xt·Whᵀ + (rt ⊙ Ht-1)·Rhᵀ + Rbh + Wbh), with linear_before_reset g(Xt·Whᵀ + rt ⊙ (Ht-1·Rhᵀ + Rbh) + Wbh)
//   Ht = (1 - zt) ⊙ ht + zt ⊙ Ht-1
void step(const RecurrentCell& cell, std::span<const double> x, std::vector<double>& h, bool linear_before_reset) {
  const auto& f = cell.activations[0];
  const auto& g = cell.activations[1];
  const std::vector<double> before = h;
  std::vector<double> reset(before.size());
  std::vector<double> kept(before.size());
  for (std::int64_t i = 0; i < cell.hidden; ++i) {
    reset[at(i)] = f(cell.from_input(kReset, i, x) + cell.from_state(kReset, i, before));
    kept[at(i)] = reset[at(i)] * before[at(i)];
  }
  for (std::int64_t i = 0; i < cell.hidden; ++i) {
    const double update = f(cell.from_input(kUpdate, i, x) + cell.from_state(kUpdate, i, before));
    const double recurrent =
        linear_before_reset ? reset[at(i)] * cell.from_state(kHidden, i, before) : cell.from_state(kHidden, i, kept);
    h[at(i)] = (1.0 - update) * g(cell.from_input(kHidden, i, x) + recurrent) + update * before[at(i)];
  }
}

Result<std::vector<Tensor>> run_gru(const OpCall& call) {
  const bool linear_before_reset = call.node.int_or("linear_before_reset", 0) != 0;
  return run_recurrent(call, {.gates = 3, .activations = {"Sigmoid", "Tanh"}},
                       [=](const RecurrentCell& cell, std::span<const double> x, std::vector<double>& h,
                           std::vector<double>& /*c*/) { step(cell, x, h, linear_before_reset); });
}

Result<std::vector<TensorFacts>> infer_gru(const ShapeCall& call) { return infer_recurrent(call, false); }

}  // namespace

const OpDef& op_gru() {
  static const OpDef def{
      .name = "GRU", .first_opset = 7, .min_inputs = 3, .max_inputs = 6, .run = &run_gru, .infer = &infer_gru};
  return def;
}

}  // namespace assay::reference
