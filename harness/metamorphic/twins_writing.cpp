#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "harness/metamorphic/twin_makers.hpp"

namespace assay::metamorphic {
namespace {

using core::TensorMap;
using model::Model;
using model::Node;

Twin same_data(Model model) {
  const auto same = [](const TensorMap& tensors) { return Batches{tensors}; };
  return {std::move(model), same, same, {}};
}

/// Nodes in the topological order that always takes the last one that is ready.
std::vector<std::size_t> latest_first_order(const model::Graph& graph) {
  const model::Wiring wiring(graph);
  std::vector<std::size_t> waiting_for(graph.nodes.size(), 0);
  std::vector<std::set<std::size_t>> readers(graph.nodes.size());
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    std::vector<std::string> reads = graph.nodes[index].inputs;
    const std::vector<std::string> captured = model::captured_names(graph.nodes[index]);
    reads.insert(reads.end(), captured.begin(), captured.end());
    for (const std::string& name : reads) {
      const std::optional<std::size_t> maker = wiring.producer(name);
      if (maker && readers[*maker].insert(index).second) {
        ++waiting_for[index];
      }
    }
  }
  std::set<std::size_t, std::greater<>> ready;
  for (std::size_t index = 0; index < waiting_for.size(); ++index) {
    if (waiting_for[index] == 0) {
      ready.insert(index);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const std::size_t reader : readers[next]) {
      if (--waiting_for[reader] == 0) {
        ready.insert(reader);
      }
    }
  }
  return order;
}

/// New names, given so that the new ones sort the other way round.
class Renaming {
 public:
  void add(const std::string& name) {
    if (!name.empty()) {
      names_.emplace(name, "");
    }
  }
  void settle(char stem) {
    std::size_t number = names_.size();
    for (auto& [old_name, new_name] : names_) {
      new_name = fmt::format("{}{:05}", stem, --number);
    }
  }
  [[nodiscard]] const std::map<std::string, std::string>& all() const { return names_; }
  [[nodiscard]] std::string of(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }
  [[nodiscard]] Batches of(const TensorMap& tensors) const {
    TensorMap renamed;
    for (const auto& [name, tensor] : tensors) {
      renamed.emplace(of(name), tensor);
    }
    return {std::move(renamed)};
  }

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace

core::Result<Twin> convert_twice(const Model& model, const Batches& /*calibration*/) { return same_data(model); }

core::Result<Twin> permute_inputs(const Model& model, const Batches& /*calibration*/) {
  if (model.graph.inputs.size() < 2) {
    return not_applicable("the graph has fewer than two inputs");
  }
  Twin twin = same_data(model);
  std::reverse(twin.model.graph.inputs.begin(), twin.model.graph.inputs.end());
  return twin;
}

core::Result<Twin> permute_nodes(const Model& model, const Batches& /*calibration*/) {
  const std::vector<std::size_t> order = latest_first_order(model.graph);
  if (std::is_sorted(order.begin(), order.end())) {
    return not_applicable("the nodes have only one order");
  }
  Twin twin = same_data(model);
  for (std::size_t place = 0; place < order.size(); ++place) {
    twin.model.graph.nodes[place] = model.graph.nodes[order[place]];
  }
  return twin;
}

core::Result<Twin> rename_everything(const Model& model, const Batches& /*calibration*/) {
  Renaming tensors;
  Renaming nodes;
  for (const model::ValueInfo& info : model.graph.inputs) {
    tensors.add(info.name);
  }
  for (const auto& [name, value] : model.graph.initializers) {
    tensors.add(name);
  }
  for (const Node& node : model.graph.nodes) {
    if (!model::captured_names(node).empty()) {
      return not_applicable(fmt::format("node \"{}\" has a subgraph that reads names from outside", node.name));
    }
    nodes.add(node.name);
    for (const std::string& name : node.outputs) {
      tensors.add(name);
    }
  }
  tensors.settle('t');
  nodes.settle('n');
  const auto renamed = [tensors](const TensorMap& data) { return tensors.of(data); };
  Twin twin{model, renamed, renamed, nodes.all()};
  model::Graph& graph = twin.model.graph;
  for (std::vector<model::ValueInfo>* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (model::ValueInfo& info : *list) {
      info.name = tensors.of(info.name);
    }
  }
  graph.initializers.clear();
  for (const auto& [name, value] : model.graph.initializers) {
    graph.initializers.emplace(tensors.of(name), value);
  }
  for (Node& node : graph.nodes) {
    node.name = nodes.of(node.name);
    for (std::vector<std::string>* list : {&node.inputs, &node.outputs}) {
      for (std::string& name : *list) {
        name = tensors.of(name);
      }
    }
  }
  return twin;
}

core::Result<Twin> insert_identities(const Model& model, const Batches& calibration) {
  const core::Result<TensorMap> tensors = real_tensors(model, calibration.front());
  if (!tensors) {
    return tensors.error();
  }
  Twin twin = same_data(model);
  model::Graph& graph = twin.model.graph;
  std::map<std::string, std::string> behind;  // tensor → the Identity's output
  std::vector<Node> nodes;
  const auto pass_on = [&](const std::string& name) {
    if (!tensors->contains(name) || model::Wiring(model.graph).consumers(name).empty()) {
      return;
    }
    const std::string copy = model::fresh_name(graph, name + "_copy");
    behind.emplace(name, copy);
    nodes.push_back({copy, "Identity", "", {name}, {copy}, {}});
  };
  for (const model::ValueInfo& info : graph.inputs) {
    pass_on(info.name);
  }
  for (Node node : graph.nodes) {
    for (std::string& name : node.inputs) {
      if (const auto found = behind.find(name); found != behind.end()) {
        name = found->second;
      }
    }
    nodes.push_back(node);
    for (const std::string& name : node.outputs) {
      pass_on(name);
    }
  }
  if (behind.empty()) {
    return not_applicable("no real tensor is read by a node");
  }
  graph.nodes = std::move(nodes);
  return twin;
}

}  // namespace assay::metamorphic
