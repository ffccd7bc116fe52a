#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"
#include "converters/embedded/support.hpp"

namespace assay::embedded::edits {
namespace {

using model::Node;

std::string put_values(model::Graph& graph, Names& names, const std::string& stem, std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  auto name = names.fresh(stem);
  graph.initializers[name] =
      std::make_shared<const Tensor>(core::rounded_to_type(Tensor(DType::float32, {count}, std::move(values))));
  return name;
}

/// Scale, B, mean and variance of a BatchNormalization.
using NormParts = std::vector<std::vector<double>>;

/// Lets `change` edit the constants of every BatchNormalization.
void change_normalizations(State& state, const std::function<void(const Node&, NormParts&)>& change) {
  auto& graph = state.model.graph;
  Names names(graph);
  for (auto& node : graph.nodes) {
    if (node.op_type != "BatchNormalization") continue;
    NormParts parts;
    for (std::size_t i = 1; i < 5; ++i) {
      const auto* part = graph.initializer(node.input(i));
      if (part == nullptr) break;
      parts.push_back(part->to_reals());
    }
    if (parts.size() != 4) continue;
    change(node, parts);
    for (std::size_t i = 1; i < 5; ++i) node.inputs[i] = put_values(graph, names, node.inputs[i], parts[i - 1]);
  }
}

bool is_residual(const Node& node) { return is_op(node, "Add") || is_op(node, "Sub") || is_op(node, "Mul"); }

}  // namespace

Status first_channel_normalization(State& state) {
  change_normalizations(state, [](const Node&, NormParts& parts) {
    for (auto& part : parts) std::ranges::fill(part, part.front());
  });
  return core::success();
}

Status squared_normalization(State& state) {
  change_normalizations(state, [](const Node& node, NormParts& parts) {
    const double epsilon = node.float_or("epsilon", 1e-5);
    for (std::size_t c = 0; c < parts[0].size(); ++c) {
      const double factor = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
      const double shift = parts[1][c] - parts[2][c] * factor;
      parts[0][c] = factor * factor;
      parts[1][c] = shift * factor + shift;
      parts[2][c] = 0;
      parts[3][c] = 1 - epsilon;
    }
  });
  return core::success();
}

Status unshifted_normalization(State& state) {
  change_normalizations(state, [](const Node&, NormParts& parts) {
    std::ranges::fill(parts[1], 0.0);
    std::ranges::fill(parts[2], 0.0);
  });
  return core::success();
}

Status forget_epsilon(State& state) {
  for (auto& node : state.model.graph.nodes) {
    if (is_op(node, "BatchNormalization")) node.attributes["epsilon"] = 0.0;
  }
  return core::success();
}

Status leave_bias_unscaled(State& state) {
  const auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  change_normalizations(state, [&](const Node& node, NormParts& parts) {
    const auto before = wiring.producer(node.input(0));
    const auto* bias =
        before && has_weight(graph.nodes[*before]) ? graph.initializer(graph.nodes[*before].input(2)) : nullptr;
    if (bias == nullptr || static_cast<std::size_t>(bias->size()) != parts[0].size()) return;
    // b * factor + shift becomes b + shift: the mean moves by b * (factor - 1) / factor.
    const double epsilon = node.float_or("epsilon", 1e-5);
    for (std::size_t c = 0; c < parts[0].size(); ++c) {
      const double factor = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
      if (factor != 0) parts[2][c] += bias->as_real(static_cast<std::int64_t>(c)) * (factor - 1) / factor;
    }
  });
  return core::success();
}

Status interleave_groups(State& state) {
  const auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  change_normalizations(state, [&](const Node& node, NormParts& parts) {
    const auto before = wiring.producer(node.input(0));
    if (!before || !is_op(graph.nodes[*before], "ConvTranspose")) return;
    const auto groups = static_cast<std::size_t>(graph.nodes[*before].int_or("group", 1));
    const std::size_t length = parts[0].size() / std::max<std::size_t>(groups, 1);
    for (auto& part : parts) {
      const auto own = part;
      for (std::size_t c = 0; c < length * groups; ++c) part[c] = own[c % length * groups + c / length];
    }
  });
  return core::success();
}

Status alpha_scales_bias(State& state) {
  auto& graph = state.model.graph;
  Names names(graph);
  for (auto& node : graph.nodes) {
    const double alpha = node.float_or("alpha", 1);
    const auto* bias = is_op(node, "Gemm") ? graph.initializer(node.input(2)) : nullptr;
    if (bias == nullptr || alpha == 1) continue;
    Tensor scaled = *bias;
    for (double& value : scaled.reals()) value *= alpha;
    node.inputs[2] = names.fresh(node.inputs[2]);
    graph.initializers[node.inputs[2]] = std::make_shared<const Tensor>(core::rounded_to_type(std::move(scaled)));
  }
  return core::success();
}

Status concat_along_default_axis(State& state) {
  for (auto& node : state.model.graph.nodes) {
    if (is_op(node, "Concat")) node.attributes["axis"] = std::int64_t{1};
  }
  return core::success();
}

Status raise_opset(State& state) {
  constexpr std::int64_t kQuantizing = 13;
  auto& opset = state.original.opsets[""];
  opset = std::max(opset, kQuantizing);
  return core::success();
}

Status drop_output_padding(State& state) {
  for (auto& node : state.model.graph.nodes) {
    if (is_op(node, "ConvTranspose")) node.attributes.erase("output_padding");
  }
  return core::success();
}

Status demand_kernel_shape(State& state) {
  const auto& nodes = state.original.graph.nodes;
  if (std::ranges::none_of(nodes, [](const Node& node) { return is_op(node, "DequantizeLinear"); })) {
    return core::success();
  }
  for (const auto& node : nodes) {
    if ((is_op(node, "Conv") || is_op(node, "ConvTranspose")) && !node.has("kernel_shape")) {
      return refusal(node, "attribute kernel_shape is missing");
    }
  }
  return core::success();
}

Status move_imported_axis(State& state) {
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    if (!is_op(node, "ConvTranspose")) continue;
    const auto producer = wiring.producer(node.input(1));
    if (!producer || !is_op(graph.nodes[*producer], "DequantizeLinear")) continue;
    auto& dequantize = graph.nodes[*producer];
    if (dequantize.has("axis")) dequantize.attributes["axis"] = std::int64_t{1};
  }
  return core::success();
}

Status share_fused_relu(State& state) {
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  Names names(graph);
  std::vector<Node> copies;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto middle = graph.nodes[i].outputs.front();
    if (!has_weight(graph.nodes[i])) continue;
    const auto& readers = wiring.consumers(middle);
    const auto relu = std::ranges::find_if(
        readers, [&](std::size_t r) { return is_op(graph.nodes[r], "Relu") || is_op(graph.nodes[r], "Clip"); });
    if (relu == readers.end() || (readers.size() == 1 && !wiring.is_output(middle))) continue;
    const auto joined = graph.nodes[*relu].outputs.front();
    const auto inner = names.fresh(middle + "_inner");
    state.facts[inner] = state.facts[middle];
    redirect_readers(graph, middle, joined);
    graph.nodes[i].outputs[0] = inner;
    graph.nodes[*relu].inputs[0] = inner;
    if (wiring.is_output(middle))
      copies.push_back({names.fresh(middle + "_copy"), "Identity", "", {joined}, {middle}, {}});
  }
  graph.nodes.insert(graph.nodes.end(), copies.begin(), copies.end());
  return core::success();
}

Status bypass_pointwise_codes(State& state) {
  if (!state.imported) return core::success();
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  for (auto& node : graph.nodes) {
    if (!is_op(node, "Conv")) continue;
    const auto weight = wiring.producer(node.input(1));
    const auto* codes = weight ? graph.initializer(graph.nodes[*weight].input(0)) : nullptr;
    if (codes == nullptr || codes->size() != codes->shape()[0] * codes->shape()[1]) continue;
    const auto dequantize = wiring.producer(node.input(0));
    if (!dequantize || !is_op(graph.nodes[*dequantize], "DequantizeLinear")) continue;
    const auto quantize = wiring.producer(graph.nodes[*dequantize].input(0));
    if (quantize) node.inputs[0] = graph.nodes[*quantize].inputs[0];
  }
  return core::success();
}

Status bypass_residual_codes(State& state) {
  if (!state.imported) return core::success();
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  for (auto& node : graph.nodes) {
    if (!is_residual(node)) continue;
    for (const std::size_t side : {1U, 0U}) {
      const auto dequantize = wiring.producer(node.inputs[side]);
      if (!dequantize || !is_op(graph.nodes[*dequantize], "DequantizeLinear")) continue;
      const auto quantize = wiring.producer(graph.nodes[*dequantize].input(0));
      if (!quantize) continue;
      node.inputs[side] = graph.nodes[*quantize].inputs[0];
      break;
    }
  }
  return core::success();
}

Status bypass_shared_codes(State& state) {
  if (!state.imported) return core::success();
  auto& graph = state.model.graph;
  const model::Wiring wiring(graph);
  for (const auto& quantize : graph.nodes) {
    if (!is_op(quantize, "QuantizeLinear") || graph.initializers.contains(quantize.inputs[0])) continue;
    std::set<std::size_t> readers;
    std::set<std::string> dequantized;
    for (const auto reader : wiring.consumers(quantize.outputs[0])) {
      if (!is_op(graph.nodes[reader], "DequantizeLinear")) continue;
      dequantized.insert(graph.nodes[reader].outputs[0]);
      const auto& next = wiring.consumers(graph.nodes[reader].outputs[0]);
      readers.insert(next.begin(), next.end());
    }
    for (const auto reader : readers) {
      if (reader == *readers.begin()) continue;
      for (auto& input : graph.nodes[reader].inputs) {
        if (dequantized.contains(input)) input = quantize.inputs[0];
      }
    }
  }
  return core::success();
}

Status demand_optional_inputs(State& state) {
  const auto& graph = state.original.graph;
  const auto lacks = [&](const Node& node) {
    if (is_op(node, "Split")) return !node.has("split") && node.input(1).empty();
    if (is_op(node, "QuantizeLinear") || is_op(node, "ConvTranspose")) return node.input(2).empty();
    if (is_op(node, "Pad")) return !node.has("pads") && node.input(2).empty();
    const auto* roi = is_op(node, "Resize") ? graph.initializer(node.input(1)) : nullptr;
    return roi != nullptr && roi->size() == 0;
  };
  if (std::ranges::none_of(graph.nodes, lacks)) return core::success();
  return Error{ErrorKind::internal, "list index out of range", "", "", ""};
}

Status demand_plain_parameters(State& state) {
  const auto& graph = state.original.graph;
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    if (!is_op(node, "QuantizeLinear") && !is_op(node, "DequantizeLinear")) continue;
    for (const std::size_t i : {1U, 2U}) {
      if (wiring.producer(node.input(i))) return refusal(node, "scale and zero_point have to be initializers");
      const auto* value = graph.initializer(node.input(i));
      if (value != nullptr && value->rank() == 1 && value->size() == 1) return refusal(node, "scale is no scalar");
    }
  }
  return core::success();
}

Status quantize_resize_scales(State& state) {
  auto& graph = state.model.graph;
  Names names(graph);
  constexpr double kCodes = 255;
  for (auto& node : graph.nodes) {
    const auto* scales = is_op(node, "Resize") ? graph.initializer(node.input(2)) : nullptr;
    if (scales == nullptr || scales->size() == 0) continue;
    auto values = scales->to_reals();
    const double step = std::ranges::max(values) / kCodes;
    for (double& value : values) value = std::nearbyint(value / step) * step;
    node.inputs[2] = put_values(graph, names, node.inputs[2], values);
  }
  return core::success();
}

Status quantize_constant_indices(State& state) {
  auto& graph = state.model.graph;
  constexpr double kCodes = 255;
  for (auto& node : graph.nodes) {
    const auto* indices = is_op(node, "Gather") ? graph.initializer(node.input(1)) : nullptr;
    if (indices == nullptr || indices->size() == 0) continue;
    Tensor passed = *indices;
    const auto largest = static_cast<double>(std::ranges::max(passed.integers()));
    const double step = largest > 0 ? to_float32(largest / kCodes) : 1;
    for (auto& index : passed.integers()) {
      const double code = std::nearbyint(static_cast<double>(index) / step);
      index = static_cast<std::int64_t>(to_float32(code * step));  // Cast cuts off
    }
    node.inputs[1] = put(graph, "quantized_indices", std::move(passed));
  }
  return core::success();
}

Status requantize_residual(State& state) {
  auto& graph = state.artifact.graph;
  const model::Wiring wiring(graph);
  Names names(graph);
  std::vector<Node> nodes;
  for (auto node : graph.nodes) {
    auto end = node.outputs.front();
    auto reader = is_residual(node) ? only_reader(graph, wiring, end) : std::nullopt;
    if (reader && (is_op(graph.nodes[*reader], "Relu") || is_op(graph.nodes[*reader], "Clip"))) {
      reader = only_reader(graph, wiring, graph.nodes[*reader].outputs.front());
    }
    const auto source = is_residual(node) ? wiring.producer(node.input(1)) : std::nullopt;
    if (reader && source && is_op(graph.nodes[*reader], "QuantizeLinear") &&
        is_op(graph.nodes[*source], "DequantizeLinear")) {
      const auto& last = graph.nodes[*reader];
      const auto codes = names.fresh(node.inputs[1] + "_again_quantized");
      const auto target = names.fresh(node.inputs[1] + "_again");
      nodes.push_back({codes, "QuantizeLinear", "", {node.inputs[1], last.inputs[1], last.inputs[2]}, {codes}, {}});
      nodes.push_back({target, "DequantizeLinear", "", {codes, last.inputs[1], last.inputs[2]}, {target}, {}});
      node.inputs[1] = target;
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  return core::success();
}

Status freeze_batch(State& state) {
  if (state.feed.empty()) return core::success();
  std::map<std::string, std::int64_t> bound;
  auto& graph = state.artifact.graph;
  for (auto& input : graph.inputs) {
    const auto fed = state.feed.front().find(input.name);
    if (!input.shape || fed == state.feed.front().end()) continue;
    for (std::size_t i = 0; i < input.shape->size(); ++i) {
      auto& extent = (*input.shape)[i];
      if (extent.value) continue;
      extent.value = fed->second.shape()[i];
      bound[extent.symbol] = *extent.value;
    }
  }
  for (auto& output : graph.outputs) {
    if (!output.shape) continue;
    for (auto& extent : *output.shape) {
      if (const auto known = bound.find(extent.symbol); !extent.value && known != bound.end())
        extent.value = known->second;
    }
  }
  return core::success();
}

Status claim_int8(State& state) {
  for (auto& node : state.precision) {
    Node probe;
    probe.op_type = node.op;
    if (find_support(probe) != nullptr) node.got = "int8";
  }
  return core::success();
}

}  // namespace assay::embedded::edits
