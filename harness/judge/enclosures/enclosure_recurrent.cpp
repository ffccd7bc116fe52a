#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/enclosures/enclosure_rules.hpp"

// LSTM and GRU, step by step, with the activations that ONNX gives them by default (docs/oracle_numerics.md).
namespace assay::judge::rules {
namespace {

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

/// A value and the interval that somebody else's lies in.
struct Span {
  double low = 0, high = 0;
};

double magnitude(const Span& x) { return std::max(std::fabs(x.low), std::fabs(x.high)); }

Span times(const Span& a, const Span& b, double unit) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  const double rounding = unit * std::max(std::fabs(low), std::fabs(high));
  return {low - rounding, high + rounding};
}

Span plus(const Span& a, const Span& b, double unit) {
  const double rounding = unit * (magnitude(a) + magnitude(b));
  return {a.low + b.low - rounding, a.high + b.high + rounding};
}

/// A function that never falls and stays between -1 and 1, rounded by somebody's library: which may go beyond.
template <typename Function>
Span grown(const Function& f, const Span& x, double unit) {
  const double rounding = kFunctionUnits * unit;
  return {f(x.low) - rounding, f(x.high) + rounding};
}

Span sigmoid(const Span& x, double unit) {
  return grown([](double value) { return 1.0 / (1.0 + std::exp(-value)); }, x, unit);
}
Span hyperbolic(const Span& x, double unit) {
  return grown([](double value) { return std::tanh(value); }, x, unit);
}

/// What is the same at every step of a layer.
struct Layer {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 0, gates = 0;
  std::vector<double> w, r, bias;
  double unit = 0;         ///< of one operation in float
  double weight_unit = 0;  ///< relative error of W, R and B
  bool reversed = false, linear_before_reset = false;

  [[nodiscard]] static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  /// Relative error of a gate's sum, over inputs, state and both biases, in whatever order.
  [[nodiscard]] double sum_error() const {
    constexpr double kBesideProducts = 4;  // two biases, the sum of both products, and what stores it
    return gamma(static_cast<double>(inputs + hidden) + kBesideProducts, unit);
  }
};

/// Row `row` of `matrix` times `values`, plus a bias: a part of a gate's sum.
Span product(const std::vector<double>& matrix, std::int64_t row, const Span* values, std::int64_t depth, double bias,
             const Layer& layer) {
  double low = bias, high = bias, size = std::fabs(bias);
  for (std::int64_t i = 0; i < depth; ++i) {
    const double weight = matrix[Layer::at(row * depth + i)];
    low += weight * (weight < 0 ? values[i].high : values[i].low);
    high += weight * (weight < 0 ? values[i].low : values[i].high);
    size += std::fabs(weight) * magnitude(values[i]);
  }
  const double error = layer.sum_error();
  const double rounding = (error + layer.weight_unit + error * layer.weight_unit) * size;
  return {low - rounding, high + rounding};
}

/// Takes one row of H (and C) over a step.
void step_lstm(const Layer& layer, std::int64_t direction, const Span* x, Span* h, Span* c) {
  const std::vector<Span> before(h, h + layer.hidden);
  const std::int64_t rows = layer.gates * layer.hidden;
  const auto gate = [&](std::int64_t which, std::int64_t i) {
    const std::int64_t row = which * layer.hidden + i;
    const std::int64_t bias = direction * 2 * rows + row;
    return plus(product(layer.w, direction * rows + row, x, layer.inputs, layer.bias[Layer::at(bias)], layer),
                product(layer.r, direction * rows + row, before.data(), layer.hidden,
                        layer.bias[Layer::at(bias + rows)], layer),
                layer.unit);
  };
  for (std::int64_t i = 0; i < layer.hidden; ++i) {  // gates in the order input, output, forget, cell
    const Span kept = times(sigmoid(gate(2, i), layer.unit), c[i], layer.unit);
    const Span fresh = times(sigmoid(gate(0, i), layer.unit), hyperbolic(gate(3, i), layer.unit), layer.unit);
    c[i] = plus(kept, fresh, layer.unit);
    h[i] = times(sigmoid(gate(1, i), layer.unit), hyperbolic(c[i], layer.unit), layer.unit);
  }
}

void step_gru(const Layer& layer, std::int64_t direction, const Span* x, Span* h) {
  const std::vector<Span> before(h, h + layer.hidden);
  const std::int64_t rows = layer.gates * layer.hidden;
  const auto part = [&](bool of_state, std::int64_t which, std::int64_t i, const Span* values) {
    const std::int64_t row = which * layer.hidden + i;
    const double bias = layer.bias[Layer::at(direction * 2 * rows + row + (of_state ? rows : 0))];
    return of_state ? product(layer.r, direction * rows + row, values, layer.hidden, bias, layer)
                    : product(layer.w, direction * rows + row, values, layer.inputs, bias, layer);
  };
  const auto gate = [&](std::int64_t which, std::int64_t i) {
    return sigmoid(plus(part(false, which, i, x), part(true, which, i, before.data()), layer.unit), layer.unit);
  };
  std::vector<Span> kept;  // gates in the order update, reset, hidden
  for (std::int64_t i = 0; i < layer.hidden; ++i) {
    kept.push_back(times(gate(1, i), layer.linear_before_reset ? part(true, 2, i, before.data()) : before[Layer::at(i)],
                         layer.unit));
  }
  for (std::int64_t i = 0; i < layer.hidden; ++i) {
    const Span recurrent = layer.linear_before_reset ? kept[Layer::at(i)] : part(true, 2, i, kept.data());
    const Span fresh = hyperbolic(plus(part(false, 2, i, x), recurrent, layer.unit), layer.unit);
    const Span& old = before[Layer::at(i)];
    const Span update = gate(0, i);
    // (1 - u)·fresh + u·old lies between the two, and is linear in u: the hull of its ends over u, not of two products
    // that each see their own u. Four operations round; u as computed may lie outside of 0 to 1 by its own rounding.
    const auto mixed = [](double u, double f, double o) { return (1 - u) * f + u * o; };
    const auto share = [](double u) { return std::clamp(u, 0.0, 1.0); };
    const double rounding =
        (4 + kFunctionUnits) * layer.unit * (1 + 8 * layer.unit) * (magnitude(fresh) + magnitude(old));
    const double least = share(update.low), most = share(update.high);
    h[i] = {std::min(mixed(least, fresh.low, old.low), mixed(most, fresh.low, old.low)) - rounding,
            std::max(mixed(least, fresh.high, old.high), mixed(most, fresh.high, old.high)) + rounding};
  }
}

std::vector<Span> spans_of(const Enclosure& e) {
  const std::vector<double> low = e.low_or_centre().to_reals();
  const std::vector<double> high = e.high_or_centre().to_reals();
  std::vector<Span> spans;
  spans.reserve(low.size());
  for (std::size_t i = 0; i < low.size(); ++i) spans.push_back({low[i], high[i]});
  return spans;
}

bool has(const Call& call, std::size_t index) { return index < call.inputs.size() && call.inputs[index] != nullptr; }

/// Why no bound is known; empty where one is.
std::string unbounded(const Call& call) {
  for (const char* attribute : {"activations", "clip"}) {
    if (call.node.has(attribute)) return std::string("attribute ") + attribute + " is not followed";
  }
  for (const char* attribute : {"input_forget", "layout"}) {
    if (call.node.int_or(attribute, 0) != 0) return std::string(attribute) + " is not followed";
  }
  for (const Enclosure* input : call.inputs) {
    if (input == nullptr || !input->centre->is_real()) continue;
    for (const Tensor* end : {&input->low_or_centre(), &input->high_or_centre()}) {
      if (!std::ranges::all_of(end->reals(), [](double value) { return std::isfinite(value); }))
        return "an input is not finite";
    }
  }
  if (has(call, kLengths) || has(call, kPeepholes)) return "lengths and peepholes are not followed";
  for (const std::size_t index : {kW, kR, kB}) {
    if (has(call, index) && !call.inputs[index]->is_point()) return "its weights are uncertain";
  }
  return "";
}

Layer layer_of(const Call& call, std::int64_t gates) {
  const core::Shape& x = call.inputs[kX]->centre->shape();
  const core::Shape& w = call.inputs[kW]->centre->shape();
  Layer layer;
  layer.gates = gates;
  layer.steps = x[0];
  layer.batch = x[1];
  layer.inputs = x[2];
  layer.directions = w[0];
  layer.hidden = w[1] / gates;
  layer.w = call.inputs[kW]->centre->to_reals();
  layer.r = call.inputs[kR]->centre->to_reals();
  layer.bias = has(call, kB) ? call.inputs[kB]->centre->to_reals()
                             : std::vector<double>(Layer::at(layer.directions * 2 * gates * layer.hidden), 0.0);
  layer.unit = call.arithmetic.float_unit + 2 * kDoubleUnit;  // of the ends here, and of the centre in another order
  for (const std::size_t index : {kW, kR, kB}) {
    if (has(call, index)) layer.weight_unit = std::max(layer.weight_unit, call.inputs[index]->relative);
  }
  layer.reversed = call.node.string_or("direction", "forward") == "reverse";
  layer.linear_before_reset = call.node.int_or("linear_before_reset", 0) != 0;
  return layer;
}

Enclosure enclosed(const Tensor& centre, const std::vector<Span>& spans) {
  Enclosure output = exact_enclosure(std::make_shared<const Tensor>(centre));
  Tensor low = centre, high = centre;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    low.reals()[i] = std::min(centre.reals()[i], spans[i].low);
    high.reals()[i] = std::max(centre.reals()[i], spans[i].high);
  }
  output.low = std::make_shared<const Tensor>(std::move(low));
  output.high = std::make_shared<const Tensor>(std::move(high));
  return output;
}

}  // namespace

Result<Outputs> enclose_recurrent(const Call& call) {
  if (const std::string why = unbounded(call); !why.empty()) return no_bound(call.node, why);
  Result<std::vector<Tensor>> centres = run(call, pick_each(call, centre_of));  // checks all shapes
  if (!centres) return centres.error();
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  const bool has_cell = call.node.op_type == "LSTM";
  const Layer layer = layer_of(call, has_cell ? 4 : 3);
  const std::vector<Span> x = spans_of(*inputs[kX]);
  const auto initial = [&](std::size_t index) {
    return has(call, index) ? spans_of(*inputs[index])
                            : std::vector<Span>(Layer::at(layer.directions * layer.batch * layer.hidden));
  };
  std::vector<Span> h = initial(kInitialH);
  std::vector<Span> c = has_cell ? initial(kInitialC) : std::vector<Span>();
  std::vector<Span> y(Layer::at(layer.steps * layer.directions * layer.batch * layer.hidden));
  for (std::int64_t direction = 0; direction < layer.directions; ++direction) {
    const bool reversed = layer.reversed || direction == 1;
    for (std::int64_t i = 0; i < layer.steps; ++i) {
      const std::int64_t step = reversed ? layer.steps - 1 - i : i;
      for (std::int64_t b = 0; b < layer.batch; ++b) {
        const Span* values = x.data() + (step * layer.batch + b) * layer.inputs;
        const std::int64_t state = (direction * layer.batch + b) * layer.hidden;
        if (has_cell) {
          step_lstm(layer, direction, values, h.data() + state, c.data() + state);
        } else {
          step_gru(layer, direction, values, h.data() + state);
        }
        std::copy_n(h.data() + state, layer.hidden,
                    y.data() + ((step * layer.directions + direction) * layer.batch + b) * layer.hidden);
      }
    }
  }
  Outputs outputs;
  const std::vector<const std::vector<Span>*> spans{&y, &h, &c};
  for (std::size_t i = 0; i < centres->size(); ++i) outputs.push_back(enclosed((*centres)[i], *spans[i]));
  return outputs;
}

}  // namespace assay::judge::rules
