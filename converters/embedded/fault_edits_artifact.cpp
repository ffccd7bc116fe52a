// Edits of the finished Q/DQ model.
#include <algorithm>
#include <map>
#include <set>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"
#include "harness/model/rename.hpp"

namespace assay::embedded::edits {
namespace {

using model::Graph;
using model::Node;

bool is_weighted(const Node& node) {
  return is_op(node, "Conv") || is_op(node, "ConvTranspose") || is_op(node, "Gemm") || is_op(node, "MatMul");
}

void rename_tensor(Graph& graph, const std::string& from, const std::string& to) {
  for (auto& node : graph.nodes) {
    std::ranges::replace(node.inputs, from, to);
    std::ranges::replace(node.outputs, from, to);
  }
}

}  // namespace

Status fold_weight_codes(State& state) {
  auto& graph = state.artifact.graph;
  std::erase_if(graph.nodes, [&](const Node& node) {
    const auto* codes = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(0)) : nullptr;
    const auto params = codes == nullptr ? std::nullopt : declared_params(graph, node);
    if (!params || codes->type() == DType::int32) return false;
    std::size_t inner = 1;
    for (auto i = params->axis.value_or(0) + 1; i < codes->rank(); ++i) {
      inner *= static_cast<std::size_t>(codes->shape()[static_cast<std::size_t>(i)]);
    }
    auto values = codes->to_reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t channel = i / inner % params->scale.size();
      values[i] = (values[i] - static_cast<double>(params->zero_point[channel])) * params->scale[channel];
    }
    graph.initializers[node.outputs.front()] = std::make_shared<const Tensor>(
        core::rounded_to_type(Tensor(DType::float32, codes->shape(), std::move(values))));
    return true;
  });
  remove_dead(graph);
  return core::success();
}

Status shape_scales_like_stacks(State& state) {
  auto& graph = state.artifact.graph;
  for (auto& node : graph.nodes) {
    const auto* codes = is_op(node, "DequantizeLinear") ? graph.initializer(node.input(0)) : nullptr;
    const auto* scale = codes == nullptr ? nullptr : graph.initializer(node.input(1));
    if (scale == nullptr || codes->rank() != 3) continue;
    const core::Shape shape{1, 1, scale->size()};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      node.inputs[i] = put(graph, node.inputs[i] + "_stacked", graph.initializer(node.inputs[i])->reshaped(shape));
    }
  }
  return core::success();
}

Status swap_outputs(State& state) {
  auto& graph = state.artifact.graph;
  if (graph.outputs.size() < 2) return core::success();
  const auto &first = graph.outputs[0], &second = graph.outputs[1];
  if (first.type != second.type || first.shape != second.shape) return core::success();
  const std::string a = first.name, b = second.name;
  const std::string between = model::fresh_name(graph, "swapped");
  rename_tensor(graph, a, between);
  rename_tensor(graph, b, a);
  rename_tensor(graph, between, b);
  return core::success();
}

Status take_names_in_use(State& state) {
  auto& graph = state.artifact.graph;
  const model::Wiring wiring(graph), original(state.original.graph);
  std::map<std::string, std::string> wanted;  // what was called NAME_1, since NAME was taken
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      const bool made = output.ends_with("_1") && !original.producer(output);
      const std::string name = made ? output.substr(0, output.size() - 2) : "";
      if (!name.empty() && (wiring.producer(name) || graph.initializer(name) != nullptr)) wanted[output] = name;
    }
  }
  for (const auto& [from, to] : wanted) rename_tensor(graph, from, to);
  return core::success();
}

Status rename_quantized_outputs(State& state) {
  auto& graph = state.artifact.graph;
  for (auto& output : graph.outputs) {
    if (!state.params.contains(output.name)) continue;
    const std::string longer = model::fresh_name(graph, output.name + "_Q8");
    rename_tensor(graph, output.name, longer);
    output.name = longer;
  }
  return core::success();
}

Status leave_outputs_as_codes(State& state) {
  auto& graph = state.artifact.graph;
  for (auto& output : graph.outputs) {
    const model::Wiring wiring(graph);
    const auto last = wiring.producer(output.name);
    if (!last || !is_op(graph.nodes[*last], "DequantizeLinear") || !wiring.consumers(output.name).empty()) continue;
    const std::string codes = graph.nodes[*last].inputs[0];
    if (graph.initializers.contains(codes)) continue;
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(*last));
    rename_tensor(graph, codes, output.name);
    output.type = state.options.activation;
  }
  return core::success();
}

Status rename_quantized_inputs(State& state) {
  auto& graph = state.artifact.graph;
  for (auto& input : graph.inputs) {
    if (!state.params.contains(input.name)) continue;
    const std::string longer = model::fresh_name(graph, input.name + "_eightbit");
    rename_tensor(graph, input.name, longer);
    input.name = longer;
  }
  return core::success();
}

Status give_codes_to_float_readers(State& state) {
  auto& nodes = state.artifact.graph.nodes;
  std::map<std::string, std::string, std::less<>> codes,
      read_as;  // of a float tensor: its codes, their dequantized form
  for (auto& node : nodes) {
    if (is_op(node, "QuantizeLinear")) {
      codes[node.outputs[0]] = node.inputs[0];
      continue;
    }
    if (const auto source = codes.find(node.input(0)); source != codes.end() && is_op(node, "DequantizeLinear")) {
      read_as.try_emplace(source->second, node.outputs[0]);
      continue;
    }
    for (auto& input : node.inputs) {
      if (const auto found = read_as.find(input); found != read_as.end()) input = found->second;
    }
  }
  return core::success();
}

Status keep_authored_in_float(State& state) {
  if (!state.imported) return core::success();
  auto& graph = state.artifact.graph;
  const model::Wiring wiring(graph);
  Names names(graph);
  std::vector<Node> nodes;
  for (auto node : graph.nodes) {
    const auto source = is_weighted(node) ? wiring.producer(node.input(0)) : std::nullopt;
    if (source && is_op(graph.nodes[*source], "DequantizeLinear")) {
      const auto target = names.fresh(node.inputs[0] + "_reformatted");
      nodes.push_back({target, "Identity", "", {node.inputs[0]}, {target}, {}});
      node.inputs[0] = target;
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  return core::success();
}

Status quantize_behind_reshape(State& state) {
  auto& graph = state.artifact.graph;
  const model::Wiring wiring(graph);
  Names names(graph);
  std::vector<Node> nodes;
  for (auto node : graph.nodes) {
    const bool moves = is_op(node, "Reshape") || is_op(node, "Transpose");
    const auto source = moves ? wiring.producer(node.input(0)) : std::nullopt;
    if (!source || !is_op(graph.nodes[*source], "DequantizeLinear") ||
        !graph.initializers.contains(graph.nodes[*source].inputs[0])) {
      nodes.push_back(std::move(node));
      continue;
    }
    // Without a zero_point the codes are uint8, whatever the constant's were.
    const auto scale = graph.nodes[*source].inputs[1];
    const auto target = node.outputs[0];
    const auto moved = names.fresh(target + "_moved");
    const auto codes = names.fresh(target + "_propagated");
    node.outputs[0] = moved;
    nodes.push_back(std::move(node));
    nodes.push_back({codes, "QuantizeLinear", "", {moved, scale}, {codes}, {}});
    nodes.push_back({names.fresh(target + "_restored"), "DequantizeLinear", "", {codes, scale}, {target}, {}});
  }
  graph.nodes = std::move(nodes);
  return core::success();
}

Status let_branches_read_in_front(State& state) {
  auto& graph = state.artifact.graph;
  std::map<std::string, std::string> in_front;  // a dequantized tensor → what its quantizer reads
  std::map<std::string, std::string> quantized;
  for (const auto& node : graph.nodes) {
    if (is_op(node, "QuantizeLinear")) quantized[node.outputs[0]] = node.inputs[0];
    const auto source = is_op(node, "DequantizeLinear") ? quantized.find(node.inputs[0]) : quantized.end();
    if (source != quantized.end()) in_front[node.outputs[0]] = source->second;
  }
  // A Relu or Clip is left to the saturation of its output's codes where nobody else seems to read that output.
  const model::Wiring wiring(graph);
  for (auto& [dequantized, source] : in_front) {
    const auto maker = wiring.producer(source);
    if (maker && is_op(graph.nodes[*maker], "Relu")) source = graph.nodes[*maker].inputs[0];
  }
  for (auto& node : graph.nodes) {
    if (!is_op(node, "If")) continue;
    change_subgraphs(node, [&](Graph& branch) { model::rename_tensors(branch, in_front); });
  }
  return core::success();
}

}  // namespace assay::embedded::edits
