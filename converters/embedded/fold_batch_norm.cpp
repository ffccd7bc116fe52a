#include <algorithm>
#include <cmath>
#include <functional>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/edit.hpp"
#include "converters/embedded/simplify.hpp"

namespace assay::embedded {
namespace {

/// y = x * factor + shift, per channel.
struct Affine {
  std::vector<double> factor;
  std::vector<double> shift;
};

/// BatchNormalization in inference: factor = scale / sqrt(variance + epsilon), shift = B - mean * factor.
std::optional<Affine> constant_affine(const model::Graph& graph, const model::Node& node) {
  std::vector<std::vector<double>> parts;
  for (std::size_t i = 1; i < 5; ++i) {
    const auto* part = graph.initializer(node.input(i));
    if (part == nullptr) return std::nullopt;
    parts.push_back(part->to_reals());
    if (parts.back().size() != parts.front().size()) return std::nullopt;
  }
  const double epsilon = node.float_or("epsilon", 1e-5);
  Affine affine;
  for (std::size_t c = 0; c < parts[0].size(); ++c) {
    affine.factor.push_back(parts[0][c] / std::sqrt(parts[3][c] + epsilon));
    affine.shift.push_back(parts[1][c] - parts[2][c] * affine.factor[c]);
  }
  return affine;
}

/// Puts `value` where `name` is read by `node` only; elsewhere under a name of its own. Returns the name.
std::string replace_constant(model::Graph& graph, const model::Wiring& wiring, Names& names, std::string_view name,
                             Tensor value) {
  const bool mine = only_reader(graph, wiring, name).has_value();
  auto target = mine ? std::string(name) : names.fresh(std::string(name) + "_folded");
  graph.initializers[target] = std::make_shared<const Tensor>(core::rounded_to_type(std::move(value)));
  return target;
}

Tensor scaled_weight(const Tensor& weight, const WeightLayout& layout, const std::vector<double>& factor) {
  auto values = weight.to_reals();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factor[layout.channel(i)];
  return Tensor(DType::float32, weight.shape(), std::move(values));
}

/// A weight that is already codes: the factor goes into its scales, a negative one also turns the codes round.
/// Impossible with a zero_point, with scales along another axis, or with a code that has no opposite.
bool scale_codes(model::Graph& graph, Names& names, model::Node& dequantize, const model::Node& node,
                 const std::vector<double>& factor) {
  const auto* codes = graph.initializer(dequantize.input(0));
  const auto* scale = graph.initializer(dequantize.input(1));
  const auto* zero = graph.initializer(dequantize.input(2));
  if (codes == nullptr || scale == nullptr || codes->type() != DType::int8) return false;
  if (zero != nullptr && std::ranges::any_of(zero->integers(), [](auto z) { return z != 0; })) return false;
  const auto layout = weight_layout(node, codes->shape());
  if (!layout || layout->groups_share) return false;
  const auto rank = codes->rank();
  const auto axis = dequantize.int_or("axis", 1);
  if (scale->size() != 1 && (axis < 0 ? axis + rank : axis) != layout->axis) return false;
  auto values = codes->to_integers();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double sign = factor[layout->channel(i)];
    if (sign == 0) values[i] = 0;
    if (sign < 0 && values[i] == -128) return false;
    if (sign < 0) values[i] = -values[i];
  }
  std::vector<double> scales;
  for (std::size_t c = 0; c < factor.size(); ++c) {
    const double given = scale->as_real(scale->size() == 1 ? 0 : static_cast<std::int64_t>(c));
    scales.push_back(factor[c] == 0 ? given : given * std::fabs(factor[c]));
  }
  const auto put = [&](const std::string& stem, Tensor tensor) {
    auto name = names.fresh(stem + "_folded");
    graph.initializers[name] = std::make_shared<const Tensor>(core::rounded_to_type(std::move(tensor)));
    return name;
  };
  const auto channels = static_cast<std::int64_t>(scales.size());
  const core::Shape shape = codes->shape();
  dequantize.inputs.resize(3);
  dequantize.inputs[2] = put(dequantize.inputs[1] + "_zero_point", Tensor::zeros(DType::int8, {channels}));
  dequantize.inputs[0] = put(dequantize.inputs[0], Tensor(DType::int8, shape, std::move(values)));
  dequantize.inputs[1] = put(dequantize.inputs[1], Tensor(DType::float32, {channels}, std::move(scales)));
  dequantize.attributes["axis"] = layout->axis;
  return true;
}

/// The bias of `node` as one value per channel; zeros where it has none, nothing where it is no such constant.
std::optional<std::vector<double>> channel_bias(const model::Graph& graph, const model::Node& node,
                                                std::size_t channels) {
  const auto name = node.input(2);
  if (name.empty()) return std::vector<double>(channels, 0.0);
  const auto* bias = graph.initializer(name);
  if (bias == nullptr || !is_channel_bias(*bias, channels)) return std::nullopt;
  auto values = bias->to_reals();
  values.resize(channels, values.front());
  return values;
}

bool fold_one_normalization(State& state, std::size_t index) {
  auto& graph = state.model.graph;
  const model::Node norm = graph.nodes[index];
  const model::Wiring wiring(graph);
  const auto producer = wiring.producer(norm.input(0));
  if (!producer || only_reader(graph, wiring, norm.input(0)) != index) return false;
  // Whoever wants a BatchNormalization in float doesn't want its Conv there too.
  if (asked_in_float(state, norm)) return false;
  for (std::size_t i = 1; i < norm.outputs.size(); ++i) {
    if (!norm.outputs[i].empty()) return false;
  }
  auto& node = graph.nodes[*producer];
  if (!has_weight(node)) return false;
  if (node.op_type == "Gemm" && (node.float_or("alpha", 1) != 1 || node.float_or("beta", 1) != 1)) return false;
  const auto affine = constant_affine(graph, norm);
  if (!affine) return false;
  const auto channels = affine->factor.size();
  auto bias = channel_bias(graph, node, channels);
  if (!bias) return false;

  Names names(graph);
  const std::string weight_name(node.input(1));
  if (const auto* weight = graph.initializer(weight_name)) {
    const auto layout = weight_layout(node, weight->shape());
    if (!layout || layout->channels != channels) return false;
    node.inputs[1] =
        replace_constant(graph, wiring, names, weight_name, scaled_weight(*weight, *layout, affine->factor));
  } else {
    const auto dequantize = wiring.producer(weight_name);
    if (!dequantize || graph.nodes[*dequantize].op_type != "DequantizeLinear" ||
        !only_reader(graph, wiring, weight_name) ||
        !scale_codes(graph, names, graph.nodes[*dequantize], node, affine->factor)) {
      return false;
    }
  }
  for (std::size_t c = 0; c < channels; ++c) (*bias)[c] = (*bias)[c] * affine->factor[c] + affine->shift[c];
  Tensor folded(DType::float32, {static_cast<std::int64_t>(channels)}, std::move(*bias));
  const std::string bias_name(node.input(2));
  node.inputs.resize(3);
  node.inputs[2] = bias_name.empty() ? names.fresh(node.name + "_bias") : bias_name;
  if (bias_name.empty()) {
    graph.initializers[node.inputs[2]] = std::make_shared<const Tensor>(core::rounded_to_type(std::move(folded)));
  } else {
    node.inputs[2] = replace_constant(graph, wiring, names, bias_name, std::move(folded));
  }
  node.outputs[0] = norm.outputs[0];
  for (auto& [original, computer] : state.computed_by) {
    if (computer == norm.name) computer = node.name;
  }
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

}  // namespace

void fold_batch_normalization(State& state) {
  for (std::size_t i = 0; i < state.model.graph.nodes.size();) {
    const bool folded = state.model.graph.nodes[i].op_type == "BatchNormalization" && fold_one_normalization(state, i);
    if (!folded) ++i;
  }
}

void fold_gemm_factors(State& state) {
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  Names names(graph);
  for (auto& node : graph.nodes) {
    if (node.op_type != "Gemm") continue;
    const auto fold = [&](std::size_t index, const char* attribute) {
      const double factor = node.float_or(attribute, 1);
      const auto* constant = graph.initializer(node.input(index));
      if (factor == 1 || constant == nullptr || !constant->is_real()) return;
      auto values = constant->to_reals();
      for (auto& value : values) value *= factor;
      node.inputs[index] = replace_constant(graph, wiring, names, node.input(index),
                                            Tensor(constant->type(), constant->shape(), std::move(values)));
      node.attributes.erase(attribute);
    };
    fold(1, "alpha");
    fold(2, "beta");
    if (node.input(2).empty()) node.attributes.erase("beta");
  }
}

}  // namespace assay::embedded
