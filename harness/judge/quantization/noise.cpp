#include "harness/judge/quantization/noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/enclosures/dynamic_rounding.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// A tensor with the variance of its error; an empty variance is none.
struct Noisy {
  TensorPtr value;
  std::vector<double> variance;
};

TensorPtr real_tensor(const Tensor& like, std::vector<double> values) {
  return std::make_shared<const Tensor>(like.type(), like.shape(), std::move(values));
}

TensorPtr squared(const Tensor& tensor) {
  std::vector<double> values = tensor.to_reals();
  for (double& value : values) {
    value *= value;
  }
  return real_tensor(tensor, std::move(values));
}

class NoiseWalk {
 public:
  NoiseWalk(const QuantizationPlan& plan, const core::TensorMap& inputs, Steps steps) : plan_(plan), steps_(steps) {
    for (const auto& [name, tensor] : inputs) {
      values_[name] = {{TensorPtr(), &tensor}, {}};
    }
  }

  std::optional<NoisePrediction> run() {
    const Alignment& model = plan_.alignment();
    for (std::size_t i = 0; i < model.operations.size(); ++i) {
      if (!step(i)) {
        return std::nullopt;
      }
    }
    NoisePrediction prediction;
    for (auto& [name, noisy] : values_) {
      if (noisy.value->is_real()) {
        if (noisy.variance.empty()) {
          noisy.variance.assign(static_cast<std::size_t>(noisy.value->size()), 0.0);
        }
        prediction.variance[name] = std::move(noisy.variance);
      }
    }
    return prediction;
  }

 private:
  bool step(std::size_t index) {
    const Node& node = plan_.alignment().operations[index].node;
    std::vector<Noisy> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto constant = plan_.constants(index).inputs.find(k);
      if (node.inputs[k].empty()) {
        inputs.push_back({});
      } else if (constant != plan_.constants(index).inputs.end()) {
        const bool drops = steps_ == Steps::finest && plan_.may_be_fine_data(index, k);
        inputs.push_back(constant_noise(constant->second, sums_products(node) && !drops));
      } else {
        const auto found = values_.find(node.inputs[k]);
        if (found == values_.end()) {
          return false;
        }
        inputs.push_back(found->second);
        if (sums_products(node)) {
          add_rounding(node.inputs[k], inputs.back());
          if (plan_.alignment().operations[index].rounds_dynamically(k)) add_dynamic_rounding(inputs.back());
        }
      }
    }
    if (sums_products(node)) add_halves_read(index, inputs);
    const auto outputs = run_node(node, inputs);
    if (!outputs) {
      return false;
    }
    std::vector<Noisy> results;
    for (const Tensor& output : *outputs) {
      results.push_back({std::make_shared<const Tensor>(output), {}});
    }
    const bool noisy =
        std::any_of(inputs.begin(), inputs.end(), [](const Noisy& input) { return !input.variance.empty(); });
    if (noisy && !propagate(node, inputs, results)) {
      return false;
    }
    if (!only_moves(node)) add_halves(index, results);
    for (std::size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
      values_[node.outputs[k]] = std::move(results[k]);
    }
    return true;
  }

  std::optional<std::vector<Tensor>> run_node(const Node& node, const std::vector<Noisy>& inputs) const {
    std::vector<TensorPtr> values;
    values.reserve(inputs.size());
    for (const Noisy& input : inputs) {
      values.push_back(input.value);
    }
    return run_on(node, values);
  }

  std::optional<std::vector<Tensor>> run_on(const Node& node, const std::vector<TensorPtr>& values) const {
    std::vector<const Tensor*> raw;
    raw.reserve(values.size());
    for (const TensorPtr& value : values) {
      raw.push_back(value.get());
    }
    auto outputs = reference::execute_node(node, plan_.alignment().opset(node.domain), raw);
    if (!outputs) {
      return std::nullopt;
    }
    return std::move(*outputs);
  }

  /// A radius of half a step is the end of a uniform draw: variance r²/3. Where the least is asked for, what lies on a
  /// code has none, such as the largest weight of each channel, which may be its only one.
  [[nodiscard]] Noisy constant_noise(const Enclosure& constant, bool quantized) const {
    constexpr double kOnGrid = 1e-3;  // of a step
    Noisy noisy{constant.centre, {}};
    if (quantized && !constant.is_point()) {
      noisy.variance = radius_of(constant);
      for (std::size_t i = 0; i < noisy.variance.size(); ++i) {
        double& value = noisy.variance[i];
        const double steps = value > 0 ? constant.centre->as_real(static_cast<std::int64_t>(i)) / (2 * value) : 0;
        const bool on_grid = steps_ == Steps::finest && std::fabs(steps - std::nearbyint(steps)) < kOnGrid;
        value = on_grid ? 0 : value * value / 3;
      }
    }
    return noisy;
  }

  void add_rounding(const std::string& tensor, Noisy& noisy) const {
    const std::vector<QuantizationPlan::Rounding>& roundings = plan_.roundings(tensor);
    if (roundings.empty() || !roundings.front().span) {
      return;
    }
    const CodeSpan& span = *roundings.front().span;
    const bool finest = steps_ == Steps::finest;
    add_steps([&](double value) { return finest ? span.least_half(value) : span.half(value); }, noisy);
  }

  /// A product in floats of 16 bits reads its operands, weights among them, as such.
  void add_halves_read(std::size_t index, std::vector<Noisy>& inputs) const {
    const double unit = plan_.half_unit_of(index);
    if (unit == 0 || steps_ == Steps::finest) return;
    for (Noisy& input : inputs) {
      if (input.value != nullptr && input.value->is_real())
        add_steps([unit](double value) { return half_error(unit, value); }, input);
    }
  }

  /// What is computed in floats of 16 bits the original rounds to them, and the artifact on its own: an artifact that
  /// rounds no finer may still round alike.
  void add_halves(std::size_t index, std::vector<Noisy>& results) const {
    const double unit = plan_.half_unit_of(index);
    if (unit == 0 || steps_ == Steps::finest) return;
    // Each of the two roundings is uniform within half of half_error.
    const auto radius = [unit](double value) { return half_error(unit, value) / std::sqrt(2.0); };
    for (Noisy& result : results) {
      if (result.value->is_real()) add_steps(radius, result);
    }
  }

  void add_dynamic_rounding(Noisy& noisy) const {
    if (!noisy.value->is_real()) return;
    const double half = dynamic_step(noisy.value->reals(), plan_.rounds_around_zero()) / 2;
    add_steps([half](double) { return half; }, noisy);
  }

  /// `half` gives half a step at a value, the end of a uniform draw.
  template <typename Half>
  static void add_steps(const Half& half, Noisy& noisy) {
    if (noisy.variance.empty()) {
      noisy.variance.assign(static_cast<std::size_t>(noisy.value->size()), 0.0);
    }
    const std::span<const double> values = noisy.value->reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      noisy.variance[i] += values[i] == 0 ? 0 : half(values[i]) * half(values[i]) / 3;
    }
  }

  bool propagate(const Node& node, const std::vector<Noisy>& inputs, std::vector<Noisy>& results) const {
    if (results.empty() || !results[0].value->is_real()) {
      return true;
    }
    if (sums_products(node)) {
      return propagate_bilinear(node, inputs, results[0]);
    }
    if (node.op_type == "Softmax") {
      return propagate_softmax(node, inputs[0], results[0]);
    }
    const Formula formula = traits_of(node).formula;
    if (formula == Formula::sum || formula == Formula::difference || selects_by_position(node)) {
      return propagate_sum(node, inputs, results);
    }
    if (node.op_type == "GlobalAveragePool" && inputs[0].value->rank() > 2) {
      double count = 1;
      for (std::size_t i = 2; i < inputs[0].value->shape().size(); ++i) {
        count *= static_cast<double>(inputs[0].value->shape()[i]);
      }
      return propagate_sum(node, inputs, results, 1 / count);
    }
    return propagate_function(node, inputs, results[0]);
  }

  /// Var y = Σ w²·Var x + Σ x²·Var w + Σ Var x·Var w + Var b.
  bool propagate_bilinear(const Node& node, const std::vector<Noisy>& inputs, Noisy& result) const {
    Node plain = node;
    for (const char* factor : {"alpha", "beta"}) {
      if (plain.has(factor)) {
        const double value = plain.float_or(factor, 1.0);
        plain.attributes[factor] = value * value;
      }
    }
    result.variance.assign(static_cast<std::size_t>(result.value->size()), 0.0);
    const auto add = [&](const std::vector<TensorPtr>& operands) {
      const auto part = run_on(plain, operands);
      if (!part) {
        return false;
      }
      const std::span<const double> values = (*part)[0].reals();
      for (std::size_t i = 0; i < values.size(); ++i) {
        result.variance[i] += values[i];
      }
      return true;
    };
    const auto variance_of = [](const Noisy& noisy) { return real_tensor(*noisy.value, noisy.variance); };
    TensorPtr bias, no_bias;
    if (inputs.size() > 2 && inputs[2].value != nullptr) {
      no_bias = std::make_shared<const Tensor>(Tensor::zeros(inputs[2].value->type(), inputs[2].value->shape()));
      bias = inputs[2].variance.empty() ? no_bias : variance_of(inputs[2]);
    }
    const auto operands = [&](TensorPtr x, TensorPtr w, TensorPtr b) {
      std::vector<TensorPtr> list{std::move(x), std::move(w)};
      if (inputs.size() > 2) {
        list.push_back(std::move(b));
      }
      return list;
    };
    const bool x_noisy = !inputs[0].variance.empty();
    const bool w_noisy = !inputs[1].variance.empty();
    if (x_noisy) {
      std::vector<double> squares = squared(*inputs[1].value)->to_reals();  // with Var w: the cross term
      for (std::size_t i = 0; w_noisy && i < squares.size(); ++i) {
        squares[i] += inputs[1].variance[i];
      }
      if (!add(operands(variance_of(inputs[0]), real_tensor(*inputs[1].value, std::move(squares)), bias))) {
        return false;
      }
      bias = no_bias;
    }
    return !w_noisy || add(operands(squared(*inputs[0].value), variance_of(inputs[1]), bias));
  }

  /// Var Σx = Σ Var x, and what only moves; `factor` is the square of a mean's weight times its count.
  bool propagate_sum(const Node& node, const std::vector<Noisy>& inputs, std::vector<Noisy>& results,
                     double factor = 1) const {
    Node plain = node;
    if (traits_of(node).formula == Formula::difference) {
      plain.op_type = "Add";
    }
    std::vector<TensorPtr> variances;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Noisy& input = inputs[i];
      if (input.value == nullptr || !input.value->is_real() || !holds_elements_of(node, i)) {
        variances.push_back(input.value);
      } else if (input.variance.empty()) {
        variances.push_back(std::make_shared<const Tensor>(Tensor::zeros(input.value->type(), input.value->shape())));
      } else {
        variances.push_back(real_tensor(*input.value, input.variance));
      }
    }
    const auto sums = run_on(plain, variances);
    if (!sums) {
      return false;
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      results[k].variance = (*sums)[k].to_reals();
      for (double& value : results[k].variance) {
        value *= factor;
      }
    }
    return true;
  }

  /// dy_i = y_i·(dx_i − Σ_j y_j·dx_j).
  bool propagate_softmax(const Node& node, const Noisy& input, Noisy& result) const {
    const core::Shape& shape = input.value->shape();
    const std::int64_t rank = input.value->rank();
    std::int64_t axis = node.int_or("axis", plan_.alignment().opset("") >= 13 ? -1 : 1);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || (plan_.alignment().opset("") < 13 && axis != rank - 1)) {
      return false;
    }
    std::size_t inner = 1;
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) {
      inner *= static_cast<std::size_t>(shape[i]);
    }
    const auto extent = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
    const std::span<const double> y = result.value->reals();
    result.variance.assign(y.size(), 0.0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t first = i / (inner * extent) * (inner * extent) + i % inner;
      for (std::size_t j = 0; j < extent; ++j) {
        const std::size_t other = first + j * inner;
        const double slope = y[i] * ((other == i ? 1 : 0) - y[other]);
        result.variance[i] += slope * slope * input.variance[other];
      }
    }
    return true;
  }

  /// Anything elementwise or selecting: half the distance between the ends one deviation away, per noisy input.
  bool propagate_function(const Node& node, const std::vector<Noisy>& inputs, Noisy& result) const {
    result.variance.assign(static_cast<std::size_t>(result.value->size()), 0.0);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].variance.empty()) {
        continue;
      }
      std::array<std::vector<TensorPtr>, 2> ends;
      for (const std::size_t side : {0U, 1U}) {
        for (const Noisy& input : inputs) {
          ends[side].push_back(input.value);
        }
        std::vector<double> moved = inputs[i].value->to_reals();
        for (std::size_t k = 0; k < moved.size(); ++k) {
          moved[k] += (side == 0 ? -1 : 1) * std::sqrt(inputs[i].variance[k]);
        }
        ends[side][i] = real_tensor(*inputs[i].value, std::move(moved));
      }
      const auto low = run_on(node, ends[0]);
      const auto high = run_on(node, ends[1]);
      if (!low || !high) {
        return false;
      }
      const std::span<const double> from = (*low)[0].reals();
      const std::span<const double> to = (*high)[0].reals();
      for (std::size_t k = 0; k < from.size(); ++k) {
        const double half = (to[k] - from[k]) / 2;
        if (!std::isfinite(half)) {
          return false;
        }
        result.variance[k] += half * half;
      }
    }
    return true;
  }

  const QuantizationPlan& plan_;
  Steps steps_;
  std::map<std::string, Noisy, std::less<>> values_;
};

}  // namespace

std::optional<NoisePrediction> predict_noise(const QuantizationPlan& plan, const core::TensorMap& inputs, Steps steps) {
  return NoiseWalk(plan, inputs, steps).run();
}

}  // namespace assay::judge
