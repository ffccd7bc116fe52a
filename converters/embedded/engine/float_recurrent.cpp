// LSTM and GRU in float32, summed in float64, with the activations that ONNX gives them by default.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "converters/embedded/engine/kernel.hpp"

namespace assay::embedded::engine {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Sizes and weights of a layer; the batch is axis 1 of X.
struct Layer {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 0, gates = 0;
  const float *x = nullptr, *w = nullptr, *r = nullptr, *bias = nullptr;
  bool first_reversed = false;

  [[nodiscard]] bool reversed(std::int64_t direction) const { return direction == 1 || first_reversed; }
};

/// One direction's gates at one step: `from_input` is X·Wᵀ + Wb, `from_state` H·Rᵀ + Rb, each [gates * hidden].
struct Gates {
  std::vector<double> from_input, from_state;

  [[nodiscard]] double sum(std::int64_t at) const {
    return from_input[static_cast<std::size_t>(at)] + from_state[static_cast<std::size_t>(at)];
  }
};

/// out[first …] = the rows' products with `values`, plus the bias of each row.
template <typename Value>
void multiply(const float* rows, const float* bias, const Value* values, std::int64_t count, std::int64_t depth,
              double* out) {
  for (std::int64_t row = 0; row < count; ++row) {
    double sum = bias == nullptr ? 0.0 : static_cast<double>(bias[row]);
    for (std::int64_t i = 0; i < depth; ++i) {
      sum += static_cast<double>(rows[row * depth + i]) * static_cast<double>(values[i]);
    }
    out[row] = sum;
  }
}

enum LayerInput : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

Result<Layer> bind_layer(const Call& call, std::int64_t gates, const Node& node) {
  if (auto status = expect_inputs(call, 3, DType::float32); !status) return status.error();
  const Shape& x = call.input(kX).shape();
  const Shape& w = call.input(kW).shape();
  if (x.size() != 3 || w.size() != 3) return invalid_data("X and W must have three axes");
  Layer layer;
  layer.gates = gates;
  layer.steps = x[0];
  layer.batch = x[1];
  layer.inputs = x[2];
  layer.directions = w[0];
  layer.hidden = w[1] / gates;
  const std::string direction = node.string_or("direction", "forward");
  layer.first_reversed = direction == "reverse";
  const std::int64_t rows = gates * layer.hidden;
  const auto fits = [&](std::size_t index, const Shape& shape) {
    return !call.has(index) || (call.input(index).type() == DType::float32 && call.input(index).shape() == shape);
  };
  const Shape state{layer.directions, layer.batch, layer.hidden};
  if (layer.directions != (direction == "bidirectional" ? 2 : 1) || !fits(kW, {layer.directions, rows, layer.inputs}) ||
      !fits(kR, {layer.directions, rows, layer.hidden}) || !fits(kB, {layer.directions, 2 * rows}) ||
      !fits(kInitialH, state) || !fits(kInitialC, state)) {
    return invalid_data(
        fmt::format("its operands' shapes don't fit X {} and W {}", core::shape_text(x), core::shape_text(w)));
  }
  layer.x = call.input(kX).data<float>();
  layer.w = call.input(kW).data<float>();
  layer.r = call.input(kR).data<float>();
  layer.bias = call.has(kB) ? call.input(kB).data<float>() : nullptr;
  return layer;
}

std::vector<float> initial_state(const Call& call, std::size_t index, const Layer& layer) {
  const auto count = static_cast<std::size_t>(layer.directions * layer.batch * layer.hidden);
  if (!call.has(index)) return std::vector<float>(count, 0.0F);
  const auto values = call.input(index).span<float>();
  return {values.begin(), values.end()};
}

/// Runs the layer; `update` takes one row of H (and of C) over a step. Output 0 is Y, 1 the last H, 2 the last C.
template <typename Update>
Status run_layer(const Call& call, const Layer& layer, bool has_cell, const Update& update) {
  std::vector<float> h = initial_state(call, kInitialH, layer);
  std::vector<float> c = has_cell ? initial_state(call, kInitialC, layer) : std::vector<float>();
  Buffer y(DType::float32, {layer.steps, layer.directions, layer.batch, layer.hidden});
  const std::int64_t rows = layer.gates * layer.hidden;
  Gates gates{std::vector<double>(static_cast<std::size_t>(rows)), std::vector<double>(static_cast<std::size_t>(rows))};
  for (std::int64_t direction = 0; direction < layer.directions; ++direction) {
    const float* bias = layer.bias == nullptr ? nullptr : layer.bias + direction * 2 * rows;
    const float* w = layer.w + direction * rows * layer.inputs;
    const float* r = layer.r + direction * rows * layer.hidden;
    for (std::int64_t i = 0; i < layer.steps; ++i) {
      const std::int64_t step = layer.reversed(direction) ? layer.steps - 1 - i : i;
      for (std::int64_t b = 0; b < layer.batch; ++b) {
        const std::int64_t state = (direction * layer.batch + b) * layer.hidden;
        multiply(w, bias, layer.x + (step * layer.batch + b) * layer.inputs, rows, layer.inputs,
                 gates.from_input.data());
        multiply(r, bias == nullptr ? nullptr : bias + rows, h.data() + state, rows, layer.hidden,
                 gates.from_state.data());
        update(gates, r, bias, h.data() + state, has_cell ? c.data() + state : nullptr);
        std::copy_n(h.data() + state, layer.hidden,
                    y.data<float>() + ((step * layer.directions + direction) * layer.batch + b) * layer.hidden);
      }
    }
  }
  const Shape shape{layer.directions, layer.batch, layer.hidden};
  const auto last = [&](const std::vector<float>& values) {
    Buffer buffer(DType::float32, shape);
    std::ranges::copy(values, buffer.data<float>());
    return buffer;
  };
  call.outputs[0] = std::move(y);
  if (call.outputs.size() > 1) call.outputs[1] = last(h);
  if (call.outputs.size() > 2) call.outputs[2] = last(c);
  return core::success();
}

/// What ONNX allows and these kernels don't compute; empty where there is nothing of it.
std::string not_computed(const Node& node) {
  for (const char* attribute : {"activations", "clip"}) {
    if (node.has(attribute)) return fmt::format("attribute {} is not supported", attribute);
  }
  for (const char* attribute : {"input_forget", "layout"}) {
    if (node.int_or(attribute, 0) != 0) return fmt::format("{} other than 0 is not supported", attribute);
  }
  for (const std::size_t index : {std::size_t{kLengths}, std::size_t{kPeepholes}}) {
    if (!node.input(index).empty()) return fmt::format("input {} is not supported", index);
  }
  return "";
}

Result<Kernel> make_lstm(const Binding& binding) {
  // Gates in the order input, output, forget, cell.
  if (auto why = not_computed(binding.node); !why.empty()) return unsupported(std::move(why));
  return Kernel([node = binding.node](const Call& call) -> Status {
    const auto layer = bind_layer(call, 4, node);
    if (!layer) return layer.error();
    const std::int64_t hidden = layer->hidden;
    return run_layer(call, *layer, true, [hidden](const Gates& gates, const float*, const float*, float* h, float* c) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        const double kept = sigmoid(gates.sum(2 * hidden + i)) * static_cast<double>(c[i]);
        const double cell = kept + sigmoid(gates.sum(i)) * std::tanh(gates.sum(3 * hidden + i));
        c[i] = static_cast<float>(cell);
        h[i] = static_cast<float>(sigmoid(gates.sum(hidden + i)) * std::tanh(cell));
      }
    });
  });
}

Result<Kernel> make_gru(const Binding& binding) {
  // Gates in the order update, reset, hidden.
  if (auto why = not_computed(binding.node); !why.empty()) return unsupported(std::move(why));
  return Kernel([node = binding.node](const Call& call) -> Status {
    const auto layer = bind_layer(call, 3, node);
    if (!layer) return layer.error();
    const std::int64_t hidden = layer->hidden;
    const bool linear_before_reset = node.int_or("linear_before_reset", 0) != 0;
    std::vector<double> kept(static_cast<std::size_t>(hidden));
    std::vector<double> recurrent(static_cast<std::size_t>(hidden));
    return run_layer(call, *layer, false, [&](const Gates& gates, const float* r, const float* bias, float* h, float*) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        const double reset = sigmoid(gates.sum(hidden + i));
        const auto at = static_cast<std::size_t>(i);
        kept[at] = reset * static_cast<double>(h[i]);
        recurrent[at] = reset * gates.from_state[static_cast<std::size_t>(2 * hidden + i)];
      }
      if (!linear_before_reset) {
        multiply(r + 2 * hidden * hidden, bias == nullptr ? nullptr : bias + 5 * hidden, kept.data(), hidden, hidden,
                 recurrent.data());
      }
      for (std::int64_t i = 0; i < hidden; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double update = sigmoid(gates.sum(i));
        const double fresh = std::tanh(gates.from_input[static_cast<std::size_t>(2 * hidden + i)] + recurrent[at]);
        h[i] = static_cast<float>((1 - update) * fresh + update * static_cast<double>(h[i]));
      }
    });
  });
}

}  // namespace

void add_recurrent_makers(MakerTable& table) {
  table["GRU"] = &make_gru;
  table["LSTM"] = &make_lstm;
}

}  // namespace assay::embedded::engine
