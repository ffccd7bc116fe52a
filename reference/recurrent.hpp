#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// One direction of an RNN, GRU or LSTM layer: its weights, and the products that its equations are made of.
struct RecurrentCell {
  std::int64_t hidden = 0;
  std::span<const double> w;                               ///< [gates * hidden, input size]
  std::span<const double> r;                               ///< [gates * hidden, hidden]
  std::vector<double> w_bias;                              ///< [gates * hidden]
  std::vector<double> r_bias;                              ///< [gates * hidden]
  std::vector<double> peephole;                            ///< [3 * hidden] of an LSTM, else empty
  std::vector<std::function<double(double)>> activations;  ///< f, g (and h), the inputs clipped

  /// Element `i` of X·W[gate]ᵀ + Wb[gate].
  [[nodiscard]] double from_input(std::int64_t gate, std::int64_t i, std::span<const double> x) const;
  /// Element `i` of state·R[gate]ᵀ + Rb[gate].
  [[nodiscard]] double from_state(std::int64_t gate, std::int64_t i, std::span<const double> state) const;
};

/// Takes a cell's states H (and C of an LSTM) over one step with input `x`.
using RecurrentStep = std::function<void(const RecurrentCell& cell, std::span<const double> x, std::vector<double>& h,
                                         std::vector<double>& c)>;

struct RecurrentKind {
  std::int64_t gates = 1;
  std::vector<std::string> activations;  ///< the defaults of one direction
  bool has_cell_state = false;           ///< C, with initial_c as input 6, peepholes as input 7 and Y_c as output 2
};

/// The whole of RNN, GRU and LSTM but for `step`: inputs X, W, R, B, sequence_lens, initial_h; attributes direction,
/// layout, activations with alpha and beta, clip. Outputs Y and Y_h (and Y_c); Y is 0 beyond a sequence's length, and
/// the reverse direction starts at a sequence's last element.
/// Errors   shapes that don't fit each other, naming the input; unknown words.
[[nodiscard]] Result<std::vector<Tensor>> run_recurrent(const OpCall& call, const RecurrentKind& kind,
                                                        const RecurrentStep& step);

/// The rule of all three. Errors   ranks that don't fit; an unknown direction.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_recurrent(const ShapeCall& call, bool has_cell_state);

}  // namespace assay::reference
