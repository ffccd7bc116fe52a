#include "converters/embedded/edit.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/model/rename.hpp"

namespace assay::embedded {

Names::Names(const model::Graph& graph) { take(graph); }

void Names::take(const model::Graph& graph) {
  for (const auto& input : graph.inputs) taken_.insert(input.name);
  for (const auto& output : graph.outputs) taken_.insert(output.name);
  for (const auto& [name, tensor] : graph.initializers) taken_.insert(name);
  for (const auto& node : graph.nodes) {
    taken_.insert(node.name);
    taken_.insert(node.outputs.begin(), node.outputs.end());
    for (const auto& [key, value] : node.attributes) {
      const auto* subgraph = std::get_if<model::GraphPtr>(&value);
      if (subgraph != nullptr && *subgraph != nullptr) take(**subgraph);
    }
  }
}

std::string Names::fresh(const std::string& stem) {
  std::string name = stem;
  for (int suffix = 1; !taken_.insert(name).second; ++suffix) name = stem + "_" + std::to_string(suffix);
  return name;
}

bool is_op(const model::Node& node, std::string_view op) { return node.domain.empty() && node.op_type == op; }

std::string put(model::Graph& graph, const std::string& stem, core::Tensor value) {
  auto name = model::fresh_name(graph, stem);
  graph.initializers[name] = std::make_shared<const core::Tensor>(std::move(value));
  return name;
}

bool captures(const model::Node& node, std::string_view tensor) {
  const auto names = model::captured_names(node);
  return std::ranges::find(names, tensor) != names.end();
}

void redirect_readers(model::Graph& graph, std::string_view from, const std::string& to) {
  for (auto& node : graph.nodes) {
    for (auto& input : node.inputs) {
      if (input == from) input = to;
    }
    if (captures(node, from)) {
      change_subgraphs(node, [&](model::Graph& subgraph) {
        model::rename_tensors(subgraph, {{std::string(from), to}});
      });
    }
  }
}

void remove_dead(model::Graph& graph) {
  std::set<std::string, std::less<>> live;
  for (const auto& output : graph.outputs) live.insert(output.name);
  std::vector<model::Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool used = std::ranges::any_of(node->outputs, [&](const auto& name) { return live.contains(name); });
    if (!used) continue;
    for (const auto& input : node->inputs) live.insert(input);
    for (const auto& name : model::captured_names(*node)) live.insert(name);
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  std::erase_if(graph.initializers, [&](const auto& entry) { return !live.contains(entry.first); });
}

std::size_t reads(const model::Node& node, std::string_view tensor) {
  return static_cast<std::size_t>(std::ranges::count(node.inputs, tensor));
}

std::optional<std::size_t> only_reader(const model::Graph& graph, const model::Wiring& wiring,
                                       std::string_view tensor) {
  if (wiring.is_output(tensor)) return std::nullopt;
  const auto& readers = wiring.consumers(tensor);
  if (readers.size() != 1 || reads(graph.nodes[readers.front()], tensor) != 1) return std::nullopt;
  return readers.front();
}

}  // namespace assay::embedded
