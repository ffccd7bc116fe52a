#include "harness/mutants/artifact_graphs.hpp"

#include <memory>
#include <optional>
#include <span>

#include "reference/executor.hpp"

namespace assay::mutants {
namespace {

using core::DType;
using core::Tensor;
using core::TensorMap;
using model::Graph;
using model::Node;

/// `tensor` without `axis`, at index 0 of it; nothing where there is no such index.
std::optional<Tensor> first_slice(const Tensor& tensor, std::int64_t axis) {
  const std::int64_t at = axis < 0 ? axis + tensor.rank() : axis;
  if (at < 0 || at >= tensor.rank() || tensor.shape()[static_cast<std::size_t>(at)] == 0) return std::nullopt;
  Node gather;
  gather.op_type = "Gather";
  gather.attributes["axis"] = at;
  const Tensor index = Tensor(DType::int64, {}, std::vector<std::int64_t>{0});
  const std::vector<const Tensor*> inputs{&tensor, &index};
  constexpr std::int64_t kOpset = 13;
  core::Result<std::vector<Tensor>> slice = reference::execute_node(gather, kOpset, inputs);
  if (!slice) return std::nullopt;
  return std::move(slice->front());
}

/// What the inputs of `body`, an attribute of `node`, are in its first iteration. Nothing where a value is missing.
std::optional<TensorMap> first_iteration(const Node& node, const Graph& body, const TensorMap& values) {
  TensorMap bound;
  const auto bind = [&](std::size_t input, const std::string& name) {
    const auto found = values.find(std::string(node.input(input)));
    if (found == values.end()) return false;
    bound[name] = found->second;
    return true;
  };
  if (node.op_type == "Loop") {
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      const std::string& name = body.inputs[i].name;
      if (i == 0) {
        bound[name] = Tensor(DType::int64, {}, std::vector<std::int64_t>{0});
      } else if (i == 1) {
        bound[name] = Tensor(DType::boolean, {}, std::vector<std::int64_t>{1});
      } else if (!bind(i, name)) {
        return std::nullopt;
      }
    }
    return bound;
  }
  if (node.op_type == "Scan") {
    const auto scanned = static_cast<std::size_t>(node.int_or("num_scan_inputs", 0));
    if (scanned > body.inputs.size()) return std::nullopt;
    const std::size_t states = body.inputs.size() - scanned;
    const std::vector<std::int64_t> axes = node.ints_or("scan_input_axes");
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      const std::string& name = body.inputs[i].name;
      if (!bind(i, name)) return std::nullopt;
      if (i < states) continue;
      std::optional<Tensor> slice = first_slice(bound[name], i - states < axes.size() ? axes[i - states] : 0);
      if (!slice) return std::nullopt;
      bound[name] = *std::move(slice);
    }
    return bound;
  }
  return body.inputs.empty() ? std::optional(bound) : std::nullopt;  // a branch of an If reads from outside alone
}

/// `graph` as a model that is given what it reads from outside as inputs.
model::Model stand_alone(const model::Model& artifact, const Graph& graph, const TensorMap& bound) {
  model::Model model;
  model.opsets = artifact.opsets;
  model.ir_version = artifact.ir_version;
  model.graph = graph;
  model.graph.inputs.clear();
  for (const auto& [name, value] : bound) model.graph.inputs.push_back({name, value.type(), std::nullopt});
  return model;
}

class GraphWalk {
 public:
  explicit GraphWalk(const model::Model& artifact) : artifact_(artifact) {}

  /// Where the run ends early, what it gave until then is known.
  void visit(const BodyPath& path, const model::GraphPtr& graph, const TensorMap* bound) {
    TensorMap values;
    if (bound != nullptr) {
      values = *bound;
      reference::RunOptions options;
      options.observe = [&](const std::string& name, const Tensor& value) { values.insert_or_assign(name, value); };
      (void)reference::execute(stand_alone(artifact_, *graph, *bound), *bound, options);
    }
    ArtifactGraph& entry = graphs_.emplace_back(ArtifactGraph{path, graph, {}});
    for (const auto& [name, value] : values) entry.tensors[name] = {value.type(), value.shape()};
    for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
      const Node& node = graph->nodes[i];
      for (const auto& [attribute, value] : node.attributes) {
        const auto* body = std::get_if<model::GraphPtr>(&value);
        if (body != nullptr && *body != nullptr) visit_body(path, i, attribute, *body, values);
      }
    }
  }

  std::vector<ArtifactGraph> take() { return std::move(graphs_); }

 private:
  void visit_body(BodyPath path, std::size_t index, const std::string& attribute, const model::GraphPtr& body,
                  const TensorMap& values) {
    const Node& node = node_at(path, index);
    std::optional<TensorMap> bound = first_iteration(node, *body, values);
    for (const std::string& name : model::captured_names(node)) {
      const auto found = values.find(name);
      if (bound && found != values.end()) bound->insert(*found);
    }
    path.emplace_back(index, attribute);
    visit(path, body, bound ? &*bound : nullptr);
  }

  const Node& node_at(const BodyPath& path, std::size_t index) const {
    const Graph* graph = &artifact_.graph;
    for (const auto& [node, attribute] : path) {
      graph = std::get_if<model::GraphPtr>(&graph->nodes[node].attributes.at(attribute))->get();
    }
    return graph->nodes[index];
  }

  const model::Model& artifact_;
  std::vector<ArtifactGraph> graphs_;
};

void edit_at(Graph& graph, std::span<const std::pair<std::size_t, std::string>> path,
             const std::function<void(Graph&)>& edit) {
  if (path.empty()) {
    edit(graph);
    return;
  }
  model::Attribute& attribute = graph.nodes[path.front().first].attributes.at(path.front().second);
  Graph body = **std::get_if<model::GraphPtr>(&attribute);
  edit_at(body, path.subspan(1), edit);
  attribute = std::make_shared<const Graph>(std::move(body));
}

}  // namespace

std::vector<ArtifactGraph> artifact_graphs(const model::Model& artifact, const core::TensorMap& inputs) {
  GraphWalk walk(artifact);
  walk.visit({}, std::make_shared<const Graph>(artifact.graph), &inputs);
  return walk.take();
}

model::Model edited(const model::Model& artifact, const BodyPath& path, const std::function<void(Graph&)>& edit) {
  model::Model copy = artifact;
  edit_at(copy.graph, path, edit);
  return copy;
}

core::TensorPtr constant_of(const Graph& graph, std::string_view tensor) {
  if (const auto found = graph.initializers.find(std::string(tensor)); found != graph.initializers.end()) {
    return found->second;
  }
  for (const Node& node : graph.nodes) {
    const bool makes_it = node.op_type == "Constant" && !node.outputs.empty() && node.outputs.front() == tensor;
    if (makes_it) return node.tensor("value");
  }
  return nullptr;
}

}  // namespace assay::mutants
