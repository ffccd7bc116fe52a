// Quantizers that a model brings along: refused without need, or taken for others than they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {
namespace {

using model::Graph;
using model::Model;
using model::Node;

/// Declared extents of a constant or graph input; nothing elsewhere.
std::optional<core::Shape> known_shape(const Graph& graph, std::string_view tensor) {
  if (const auto* constant = graph.initializer(tensor)) return constant->shape();
  const auto* input = graph.find_input(tensor);
  if (input == nullptr || !input->shape) return std::nullopt;
  core::Shape shape;
  for (const auto& dimension : *input->shape) shape.push_back(dimension.value.value_or(-1));
  return shape;
}

/// The DequantizeLinear of constant codes behind `tensor`.
const Node* weight_dequantizer(const Graph& graph, const model::Wiring& wiring, std::string_view tensor) {
  const auto producer = wiring.producer(tensor);
  if (!producer) return nullptr;
  const auto& node = graph.nodes[*producer];
  return is_op(node, "DequantizeLinear") && graph.initializer(node.input(0)) != nullptr ? &node : nullptr;
}

/// Calls `change(dequantize, quantize)` for every QuantizeLinear that reads codes which were just dequantized.
template <typename Change>
void for_requantizations(Graph& graph, Change change) {
  const model::Wiring wiring(graph);
  for (auto& node : graph.nodes) {
    const auto source = is_op(node, "QuantizeLinear") ? wiring.producer(node.input(0)) : std::nullopt;
    if (!source || !is_op(graph.nodes[*source], "DequantizeLinear")) continue;
    const auto before = declared_params(graph, graph.nodes[*source]), after = declared_params(graph, node);
    if (before && after && before->scale.size() == 1 && after->scale.size() == 1) {
      change(graph.nodes[*source], *before, node, *after);
    }
  }
}

}  // namespace

Status check_axis_of_single_scale(State& state) {
  const auto& graph = state.original.graph;
  for (const auto& node : graph.nodes) {
    const auto params = model::is_quantizer(node) ? declared_params(graph, node) : std::nullopt;
    const auto shape = known_shape(graph, node.input(0));
    if (!params || params->scale.size() != 1 || !shape) continue;
    const auto axis = node.int_or("axis", 1);
    const bool scalar_data = shape->empty(), vector_scale = graph.initializer(node.input(1))->rank() == 1;
    const bool fits =
        axis >= 0 && axis < static_cast<std::int64_t>(shape->size()) && (*shape)[static_cast<std::size_t>(axis)] == 1;
    if (scalar_data || (vector_scale && !fits)) return refusal(node, fmt::format("axis {} has no scales", axis));
  }
  return core::success();
}

Status take_over_bias_codes(State& state) {
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    if (node.inputs.size() < 3) continue;
    const auto *bias = weight_dequantizer(graph, wiring, node.inputs[2]),
               *weight = weight_dequantizer(graph, wiring, node.inputs[1]);
    const auto input = wiring.producer(node.inputs[0]);
    if (bias == nullptr || weight == nullptr || !input || graph.initializer(bias->input(0))->type() != DType::int32) {
      continue;
    }
    const auto of_input = declared_params(graph, graph.nodes[*input]), of_weight = declared_params(graph, *weight);
    if (!of_input || of_input->scale.size() != 1 || !of_weight) continue;
    std::vector<double> scales;
    for (const double scale : of_weight->scale) scales.push_back(to_float32(of_input->scale[0] * scale));
    const core::Shape shape =
        scales.size() == 1 ? core::Shape{} : core::Shape{static_cast<std::int64_t>(scales.size())};
    const auto name = put(graph, node.inputs[2] + "_step", Tensor(DType::float32, shape, std::move(scales)));
    Node& changed = graph.nodes[*wiring.producer(node.inputs[2])];
    changed.inputs = {changed.inputs[0], name};
    changed.attributes["axis"] = std::int64_t{0};
  }
  return core::success();
}

Status refuse_bias_of_a_stack(State& state) {
  const auto& graph = state.original.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    const auto* weight = is_op(node, "MatMul") ? graph.initializer(node.input(1)) : nullptr;
    if (weight == nullptr || weight->rank() < 3) continue;
    for (const std::size_t reader : wiring.consumers(node.outputs[0])) {
      const auto& next = graph.nodes[reader];
      const auto* added = is_op(next, "Add") ? graph.initializer(next.input(1)) : nullptr;
      if (added != nullptr) {
        return refusal(node, fmt::format("operands could not be broadcast together with shapes ({}) ({})",
                                         fmt::join(added->shape(), ","), fmt::join(weight->shape(), ",")));
      }
    }
  }
  return core::success();
}

Status count_deconvolution_scales_on_axis_zero(State& state) {
  const auto& graph = state.original.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    const auto* dequantize = is_op(node, "ConvTranspose") ? weight_dequantizer(graph, wiring, node.input(1)) : nullptr;
    const auto* scale = dequantize == nullptr ? nullptr : graph.initializer(dequantize->input(1));
    if (scale == nullptr || scale->rank() == 0) continue;
    const auto expected = graph.initializer(dequantize->input(0))->shape()[0];
    if (scale->size() != expected) {
      return refusal(node, fmt::format("the weight has {} scales, expected {}", scale->size(), expected));
    }
  }
  return core::success();
}

Status keep_old_opset(State& state) {
  const auto opset = state.original.opset();
  if (opset < state.artifact.opset()) state.artifact.opsets[""] = opset;
  return core::success();
}

void lose_axis_of_shared(Model& artifact) {
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  std::vector<Node> copies;
  for (const auto& node : graph.nodes) {
    if (!is_op(node, "DequantizeLinear") || graph.initializer(node.input(0)) == nullptr) continue;
    const auto& readers = wiring.consumers(node.outputs.front());
    const auto params = declared_params(graph, node);
    if (readers.size() < 2 || !params || !params->axis) continue;
    Node copy = node;
    copy.outputs[0] = model::fresh_name(graph, node.outputs.front() + "_duplicated");
    copy.name.clear();
    copy.attributes.erase("axis");
    for (std::size_t i = 1; i < readers.size(); ++i) {
      std::ranges::replace(graph.nodes[readers[i]].inputs, node.outputs.front(), copy.outputs[0]);
    }
    copies.push_back(std::move(copy));
  }
  graph.nodes.insert(graph.nodes.begin(), copies.begin(), copies.end());
}

void move_before_dequantizer(Model& artifact) {
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  std::vector<Node> nodes;
  for (const auto& node : graph.nodes) {
    const bool moves = is_op(node, "Transpose") || is_op(node, "Unsqueeze");
    const auto* source = moves ? weight_dequantizer(graph, wiring, node.input(0)) : nullptr;
    const auto params = source == nullptr ? std::nullopt : declared_params(graph, *source);
    if (!params || !params->axis) {
      nodes.push_back(node);
      continue;
    }
    Node moved = node, dequantize = *source;
    moved.inputs[0] = source->inputs[0];
    moved.outputs[0] = model::fresh_name(graph, node.outputs.front() + "_codes");
    dequantize.name.clear();
    dequantize.inputs[0] = moved.outputs[0];
    dequantize.outputs[0] = node.outputs.front();
    dequantize.attributes["axis"] = *params->axis;
    nodes.push_back(std::move(moved));
    nodes.push_back(std::move(dequantize));
  }
  graph.nodes = std::move(nodes);
  remove_dead(graph);
}

void assume_unit_interval(Model& artifact) {
  constexpr double kStep = 1.0 / 256;
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  for (auto& node : graph.nodes) {
    const auto source = is_op(node, "QuantizeLinear") ? wiring.producer(node.input(0)) : std::nullopt;
    const auto params = source ? declared_params(graph, node) : std::nullopt;
    if (!params || params->axis || core::is_real(params->type)) continue;
    const auto& maker = graph.nodes[*source];
    if (!is_op(maker, "Softmax") && !is_op(maker, "HardSigmoid")) continue;
    const auto lowest = static_cast<double>(core::integer_limits(params->type).low);
    node.inputs.resize(3);
    node.inputs[1] = put(graph, "unit_scale", Tensor::scalar(DType::float32, kStep));
    node.inputs[2] = put(graph, "unit_zero_point", Tensor::scalar(params->type, lowest));
  }
}

void normalize_in_whole_numbers(Model& artifact) {
  constexpr std::array kPointwise{"Add", "Sub", "Mul", "Div", "Pow", "Sqrt"};
  auto& graph = artifact.graph;
  const model::Wiring wiring(graph);
  std::set<std::string> centred;  // computed of a mean, element by element
  std::set<std::size_t> pairs;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool pointwise = std::ranges::any_of(kPointwise, [&](std::string_view op) { return is_op(node, op); });
    const bool pair = is_op(node, "QuantizeLinear") || is_op(node, "DequantizeLinear");
    const bool reads = std::ranges::any_of(node.inputs, [&](const auto& input) { return centred.contains(input); });
    if (is_op(node, "ReduceMean") || (reads && (pointwise || pair))) centred.insert(node.outputs.front());
    const auto maker = wiring.producer(node.input(0));
    if (!reads || !pair || !maker) continue;
    if (is_op(node, "QuantizeLinear") ? !is_op(graph.nodes[*maker], "ReduceMean") : pairs.contains(*maker)) {
      pairs.insert(i);
    }
  }
  for (const std::size_t pair : pairs) {
    Node& node = graph.nodes[pair];
    const auto params = declared_params(graph, node);
    if (!params || params->axis) continue;
    const auto limits = core::integer_limits(params->type);
    const std::int64_t middle = limits.low + (limits.high - limits.low + 1) / 2;
    node.inputs.resize(3);
    node.inputs[1] = put(graph, "whole_scale", Tensor::scalar(DType::float32, 1));
    node.inputs[2] = put(graph, "whole_zero_point", Tensor::scalar(params->type, static_cast<double>(middle)));
  }
}

void round_ratio_of_scales(Model& artifact) {
  constexpr double kBits = 256;
  auto& graph = artifact.graph;
  for_requantizations(graph, [&](const Node&, const QuantParams& before, Node& quantize, const QuantParams& after) {
    int exponent = 0;
    const double mantissa = std::frexp(before.scale[0] / after.scale[0], &exponent);
    const double ratio = std::ldexp(std::nearbyint(mantissa * kBits) / kBits, exponent);
    quantize.inputs[1] = put(graph, "rounded_scale", Tensor::scalar(DType::float32, before.scale[0] / ratio));
  });
}

void skip_second_pair(Model& artifact) {
  auto& graph = artifact.graph;
  for_requantizations(graph,
                      [&](const Node& source, const QuantParams& before, Node& quantize, const QuantParams& after) {
                        if (before.type == after.type)
                          redirect_readers(graph, quantize.outputs.front(), source.inputs.front());
                      });
  remove_dead(graph);
}

void wrap_channel_index(Model& artifact) {
  constexpr std::size_t kTable = 256;
  auto& graph = artifact.graph;
  for (auto& node : graph.nodes) {
    const auto* codes = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(0)) : nullptr;
    const auto params = codes == nullptr ? std::nullopt : declared_params(graph, node);
    if (!params || params->scale.size() <= kTable) continue;
    auto scale = params->scale;
    for (std::size_t i = kTable; i < scale.size(); ++i) scale[i] = scale[i - kTable];
    const core::Shape shape{static_cast<std::int64_t>(scale.size())};
    node.inputs[1] = put(graph, "wrapped_scale", Tensor(DType::float32, shape, std::move(scale)));
  }
}

void read_first_scale(Model& artifact) {
  auto& graph = artifact.graph;
  for (auto& node : graph.nodes) {
    const auto params = is_op(node, "DequantizeLinear") ? declared_params(graph, node) : std::nullopt;
    if (!params || !params->axis || params->type == DType::int32) continue;
    node.inputs.resize(3);
    node.inputs[1] = put(graph, "first_scale", Tensor::scalar(DType::float32, params->scale[0]));
    node.inputs[2] =
        put(graph, "first_zero_point", Tensor::scalar(params->type, static_cast<double>(params->zero_point[0])));
    node.attributes.erase("axis");
  }
}

}  // namespace assay::embedded::edits
