#include "converters/embedded/halves.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "converters/embedded/edit.hpp"

namespace assay::embedded {
namespace {

using core::DType;
using core::Tensor;
using model::Node;

bool is_half(DType type) { return type == DType::float16 || type == DType::bfloat16; }

core::TensorPtr widened(const core::TensorPtr& tensor) {
  return tensor == nullptr || !is_half(tensor->type())
             ? tensor
             : std::make_shared<const Tensor>(DType::float32, tensor->shape(), tensor->to_reals());
}

Node cast(const std::string& name, const std::string& from, const std::string& to, DType type) {
  return {name, "Cast", "", {from}, {to}, {{"to", static_cast<std::int64_t>(type)}}};
}

/// Of the graph and its subgraphs; gives the graph's own ends.
HalfEnds widen_graph(model::Graph& graph) {
  HalfEnds ends;
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (model::ValueInfo& info : *list) {
      if (!is_half(info.type)) continue;
      if (list != &graph.value_info) ends.emplace(info.name, info.type);
      info.type = DType::float32;
    }
  }
  for (auto& [name, tensor] : graph.initializers) tensor = widened(tensor);
  for (Node& node : graph.nodes) {
    for (const char* key : {"to", "dtype", "output_dtype"}) {
      if (is_half(static_cast<DType>(node.int_or(key, 0))))
        node.attributes[key] = static_cast<std::int64_t>(DType::float32);
    }
    if (const core::TensorPtr value = node.tensor("value"); value != nullptr && is_half(value->type()))
      node.attributes["value"] = widened(value);
    change_subgraphs(node, [](model::Graph& subgraph) { widen_graph(subgraph); });
  }
  return ends;
}

}  // namespace

HalfEnds widen_halves(model::Model& model) { return widen_graph(model.graph); }

void put_half_ends(model::Model& artifact, const HalfEnds& ends) {
  if (ends.empty()) return;
  model::Graph& graph = artifact.graph;
  Names names(graph);
  std::vector<Node> before, behind;
  for (model::ValueInfo& input : graph.inputs) {
    const auto end = ends.find(input.name);
    if (end == ends.end()) continue;
    const std::string plain = names.fresh(input.name + "_float");
    redirect_readers(graph, input.name, plain);
    before.push_back(cast(names.fresh(input.name + "_Cast"), input.name, plain, DType::float32));
    input.type = end->second;
  }
  for (model::ValueInfo& output : graph.outputs) {
    const auto end = ends.find(output.name);
    if (end == ends.end()) continue;
    output.type = end->second;
    if (graph.find_input(output.name) != nullptr) continue;  // handed through as it is
    const std::string plain = names.fresh(output.name + "_float");
    redirect_readers(graph, output.name, plain);
    for (auto* nodes : {&graph.nodes, &before}) {
      for (Node& node : *nodes) std::ranges::replace(node.outputs, output.name, plain);
    }
    if (const auto constant = graph.initializers.extract(output.name)) graph.initializers[plain] = constant.mapped();
    behind.push_back(cast(names.fresh(output.name + "_Cast"), plain, output.name, end->second));
  }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  graph.nodes.insert(graph.nodes.end(), behind.begin(), behind.end());
}

}  // namespace assay::embedded
