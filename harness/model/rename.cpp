#include "harness/model/rename.hpp"

#include <memory>
#include <utility>

namespace assay::model {

void rename_tensors(Graph& graph, const std::map<std::string, std::string>& names) {
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (ValueInfo& value : *list) rename(value.name);
  }
  for (Node& node : graph.nodes) {
    if (!node.outputs.empty() && node.name == node.outputs.front()) rename(node.name);
    for (std::string& name : node.inputs) rename(name);
    for (std::string& name : node.outputs) rename(name);
    for (auto& [key, value] : node.attributes) {
      auto* sub = std::get_if<GraphPtr>(&value);
      if (sub == nullptr || !*sub) continue;
      Graph copy = **sub;
      rename_tensors(copy, names);
      *sub = std::make_shared<const Graph>(std::move(copy));
    }
  }
  std::map<std::string, TensorPtr> initializers;
  for (auto& [name, tensor] : graph.initializers) {
    const auto found = names.find(name);
    initializers[found == names.end() ? name : found->second] = tensor;
  }
  graph.initializers = std::move(initializers);
}

}  // namespace assay::model
