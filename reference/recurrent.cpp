#include "reference/recurrent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

/// Takes the next of the activation_alpha or activation_beta values, or the function's default.
class Parameters {
 public:
  Parameters(const OpCall& call, std::string_view attribute) : values_(call.node.floats_or(attribute)) {}
  double next(double fallback) { return used_ < values_.size() ? values_[used_++] : fallback; }

 private:
  std::vector<double> values_;
  std::size_t used_ = 0;
};

std::optional<std::function<double(double)>> activation(const std::string& name, Parameters& alphas,
                                                        Parameters& betas) {
  if (name == "Relu") return [](double x) { return std::max(0.0, x); };
  if (name == "Tanh") return [](double x) { return std::tanh(x); };
  if (name == "Sigmoid") return [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  if (name == "Softsign") return [](double x) { return x / (1.0 + std::abs(x)); };
  if (name == "Softplus") return [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  if (name == "LeakyRelu") return [a = alphas.next(0.01)](double x) { return x >= 0.0 ? x : a * x; };
  if (name == "ThresholdedRelu") return [a = alphas.next(1.0)](double x) { return x >= a ? x : 0.0; };
  if (name == "Elu") return [a = alphas.next(1.0)](double x) { return x >= 0.0 ? x : a * std::expm1(x); };
  if (name == "Affine") return [a = alphas.next(1.0), b = betas.next(0.0)](double x) { return a * x + b; };
  if (name == "ScaledTanh")
    return [a = alphas.next(1.0), b = betas.next(1.0)](double x) { return a * std::tanh(b * x); };
  if (name == "HardSigmoid") {
    return [a = alphas.next(0.2), b = betas.next(0.5)](double x) { return std::clamp(a * x + b, 0.0, 1.0); };
  }
  return std::nullopt;
}

/// What the node describes, with the batch as axis 1.
struct Layer {
  Tensor x;
  std::vector<bool> reversed;  ///< of each direction
  std::vector<std::int64_t> lengths;
  std::vector<RecurrentCell> cells;
  std::vector<double> h, c;  ///< [directions, batch, hidden], the initial states and in the end the last

  [[nodiscard]] std::int64_t steps() const { return x.shape()[0]; }
  [[nodiscard]] std::int64_t batch() const { return x.shape()[1]; }
  [[nodiscard]] std::int64_t directions() const { return static_cast<std::int64_t>(cells.size()); }
};

core::Status require_shape(const OpCall& call, std::size_t index, const Shape& shape) {
  if (!call.has_input(index)) return core::success();
  if (call.in(index).is_real() && call.in(index).shape() == shape) return core::success();
  return op_error(fmt::format("{} is {}, expected real values of shape {}", input_text(call, index),
                              tensor_text(call.in(index)), core::shape_text(shape)));
}

Result<std::vector<bool>> directions_of(const Node& node) {
  const std::string direction = node.string_or("direction", "forward");
  if (direction == "forward") return std::vector{false};
  if (direction == "reverse") return std::vector{true};
  if (direction == "bidirectional") return std::vector{false, true};
  return op_error(fmt::format("direction is \"{}\", expected forward, reverse or bidirectional", direction));
}

Result<std::vector<std::int64_t>> lengths_of(const OpCall& call, std::int64_t steps, std::int64_t batch) {
  if (!call.has_input(kLengths)) return std::vector(at(batch), steps);
  auto lengths = integer_list(call, kLengths);
  if (!lengths) return lengths;
  const bool fit = std::ranges::all_of(*lengths, [&](std::int64_t length) { return length >= 0 && length <= steps; });
  if (!fit || static_cast<std::int64_t>(lengths->size()) != batch) {
    return op_error(fmt::format("{} must hold {} lengths of at most {}", input_text(call, kLengths), batch, steps));
  }
  return lengths;
}

/// The activations of all directions, one after the other.
Result<std::vector<std::function<double(double)>>> activations_of(const OpCall& call, const RecurrentKind& kind,
                                                                  std::size_t directions) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < directions; ++i) {
    names.insert(names.end(), kind.activations.begin(), kind.activations.end());
  }
  if (const auto found = call.node.attributes.find("activations"); found != call.node.attributes.end()) {
    const auto* given = std::get_if<std::vector<std::string>>(&found->second);
    if (given == nullptr || given->size() != names.size()) {
      return op_error(fmt::format("activations must hold {} names", names.size()));
    }
    names = *given;
  }
  Parameters alphas(call, "activation_alpha");
  Parameters betas(call, "activation_beta");
  std::vector<std::function<double(double)>> functions;
  for (const std::string& name : names) {
    const auto function = activation(name, alphas, betas);
    if (!function) return op_unsupported(fmt::format("activation \"{}\" is none that the standard lists", name));
    functions.push_back(*function);
    if (!call.node.has("clip")) continue;
    const double bound = call.node.float_or("clip", 0.0);
    functions.back() = [inner = *function, bound](double x) { return inner(std::clamp(x, -bound, bound)); };
  }
  return functions;
}

std::vector<double> slice_or_zeros(const Tensor* tensor, std::int64_t first, std::int64_t count) {
  if (tensor == nullptr) return std::vector<double>(at(count), 0.0);
  const auto part = tensor->reals().subspan(at(first), at(count));
  return {part.begin(), part.end()};
}

core::Status check_shapes(const OpCall& call, const RecurrentKind& kind, const Tensor& x, std::int64_t directions,
                          std::int64_t hidden) {
  const std::int64_t rows = kind.gates * hidden;
  const Shape state = call.node.int_or("layout", 0) == 0 ? Shape{directions, x.shape()[1], hidden}
                                                         : Shape{x.shape()[1], directions, hidden};
  core::Status status = require_shape(call, kW, {directions, rows, x.shape()[2]});
  status = status ? require_shape(call, kR, {directions, rows, hidden}) : status;
  status = status ? require_shape(call, kB, {directions, 2 * rows}) : status;
  status = status ? require_shape(call, kInitialH, state) : status;
  status = status ? require_shape(call, kInitialC, state) : status;
  return status ? require_shape(call, kPeepholes, {directions, 3 * hidden}) : status;
}

/// The initial state in input `index` as [directions, batch, hidden]; zeros where it is left out.
Result<std::vector<double>> state_of(const OpCall& call, std::size_t index, std::int64_t count) {
  if (!call.has_input(index)) return std::vector<double>(at(count), 0.0);
  if (call.node.int_or("layout", 0) == 0) return call.in(index).to_reals();
  const auto moved = transposed(call.in(index), {1, 0, 2});
  if (!moved) return moved.error();
  return moved->to_reals();
}

Result<Layer> layer_of(const OpCall& call, const RecurrentKind& kind) {
  if (const auto real = require_real(call, kX); !real) return real.error();
  if (call.in(kX).rank() != 3 || call.in(kR).rank() != 3) {
    return op_error(
        fmt::format("X is {} and R {}, expected rank 3", tensor_text(call.in(kX)), tensor_text(call.in(kR))));
  }
  Layer layer;
  layer.x = call.in(kX);
  if (call.node.int_or("layout", 0) != 0) {
    auto moved = transposed(layer.x, {1, 0, 2});
    if (!moved) return moved.error();
    layer.x = std::move(*moved);
  }
  const auto reversed = directions_of(call.node);
  if (!reversed) return reversed.error();
  layer.reversed = *reversed;
  const auto directions = static_cast<std::int64_t>(reversed->size());
  const std::int64_t hidden = call.in(kR).shape()[2];
  if (const auto fit = check_shapes(call, kind, layer.x, directions, hidden); !fit) return fit.error();
  auto lengths = lengths_of(call, layer.steps(), layer.batch());
  if (!lengths) return lengths.error();
  layer.lengths = std::move(*lengths);
  const auto activations = activations_of(call, kind, reversed->size());
  if (!activations) return activations.error();

  const std::int64_t rows = kind.gates * hidden;
  const auto each = static_cast<std::ptrdiff_t>(kind.activations.size());
  for (std::int64_t d = 0; d < directions; ++d) {
    RecurrentCell cell;
    cell.hidden = hidden;
    cell.w = call.in(kW).reals().subspan(at(d * rows * layer.x.shape()[2]), at(rows * layer.x.shape()[2]));
    cell.r = call.in(kR).reals().subspan(at(d * rows * hidden), at(rows * hidden));
    cell.w_bias = slice_or_zeros(call.optional_in(kB), d * 2 * rows, rows);
    cell.r_bias = slice_or_zeros(call.optional_in(kB), (d * 2 + 1) * rows, rows);
    if (kind.has_cell_state) cell.peephole = slice_or_zeros(call.optional_in(kPeepholes), d * 3 * hidden, 3 * hidden);
    cell.activations.assign(activations->begin() + d * each, activations->begin() + (d + 1) * each);
    layer.cells.push_back(std::move(cell));
  }
  auto h = state_of(call, kInitialH, directions * layer.batch() * hidden);
  if (!h) return h.error();
  layer.h = std::move(*h);
  auto c = state_of(call, kInitialC, directions * layer.batch() * hidden);
  if (!c) return c.error();
  layer.c = std::move(*c);
  return layer;
}

/// `row` · `values`.
double row_product(std::span<const double> matrix, std::int64_t row, std::span<const double> values) {
  double sum = 0.0;
  const double* first = matrix.data() + row * static_cast<std::int64_t>(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) sum += first[k] * values[k];
  return sum;
}

/// Runs `layer` over all steps; Y as [steps, directions, batch, hidden].
std::vector<double> run_layer(Layer& layer, const RecurrentStep& step) {
  const std::int64_t hidden = layer.cells.front().hidden;
  const std::int64_t width = layer.x.shape()[2];
  std::vector<double> y(at(layer.steps() * layer.directions() * layer.batch() * hidden), 0.0);
  for (std::int64_t d = 0; d < layer.directions(); ++d) {
    for (std::int64_t b = 0; b < layer.batch(); ++b) {
      const std::int64_t state = (d * layer.batch() + b) * hidden;
      std::vector<double> h(layer.h.begin() + state, layer.h.begin() + state + hidden);
      std::vector<double> c(layer.c.begin() + state, layer.c.begin() + state + hidden);
      const std::int64_t length = layer.lengths[at(b)];
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = layer.reversed[at(d)] ? length - 1 - i : i;
        step(layer.cells[at(d)], layer.x.reals().subspan(at((t * layer.batch() + b) * width), at(width)), h, c);
        std::ranges::copy(h, y.begin() + ((t * layer.directions() + d) * layer.batch() + b) * hidden);
      }
      std::ranges::copy(h, layer.h.begin() + state);
      std::ranges::copy(c, layer.c.begin() + state);
    }
  }
  return y;
}

}  // namespace

double RecurrentCell::from_input(std::int64_t gate, std::int64_t i, std::span<const double> x) const {
  return row_product(w, gate * hidden + i, x) + w_bias[at(gate * hidden + i)];
}

double RecurrentCell::from_state(std::int64_t gate, std::int64_t i, std::span<const double> state) const {
  return row_product(r, gate * hidden + i, state) + r_bias[at(gate * hidden + i)];
}

Result<std::vector<Tensor>> run_recurrent(const OpCall& call, const RecurrentKind& kind, const RecurrentStep& step) {
  auto layer = layer_of(call, kind);
  if (!layer) return layer.error();
  const std::int64_t hidden = layer->cells.front().hidden;
  std::vector<double> y = run_layer(*layer, step);
  const DType type = layer->x.type();
  const Shape state{layer->directions(), layer->batch(), hidden};
  std::vector<Tensor> outputs;
  outputs.emplace_back(type, Shape{layer->steps(), layer->directions(), layer->batch(), hidden}, std::move(y));
  outputs.emplace_back(type, state, std::move(layer->h));
  if (kind.has_cell_state) outputs.emplace_back(type, state, std::move(layer->c));
  if (call.node.int_or("layout", 0) == 0) return outputs;
  for (Tensor& output : outputs) {
    auto moved = transposed(
        output, output.rank() == 4 ? std::vector<std::int64_t>{2, 0, 1, 3} : std::vector<std::int64_t>{1, 0, 2});
    if (!moved) return moved.error();
    output = std::move(*moved);
  }
  return outputs;
}

Result<Facts> infer_recurrent(const ShapeCall& call, bool has_cell_state) {
  for (const Input i : {kX, kW, kR}) {
    if (const auto real = require_real(call, i); !real) return real.error();
    if (const auto rank = require_rank(call, i, 3); !rank) return rank.error();
  }
  const auto reversed = directions_of(call.node);
  if (!reversed) return reversed.error();
  const Dimension directions = known(static_cast<std::int64_t>(reversed->size()));
  const bool batch_first = call.node.int_or("layout", 0) != 0;
  const Dimension steps = extent_of(call.in(kX), batch_first ? 1 : 0);
  const Dimension batch = extent_of(call.in(kX), batch_first ? 0 : 1);
  const Dimension named = call.node.has("hidden_size") ? known(call.node.int_or("hidden_size", 0)) : Dimension();
  const Dimension hidden = sharper(extent_of(call.in(kR), 2), named);
  const DType type = call.in(kX).type;
  const Dims state = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  Facts outputs{
      typed(type, batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden}),
      typed(type, state)};
  if (has_cell_state) outputs.push_back(typed(type, state));
  return outputs;
}

}  // namespace assay::reference
