#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "harness/model/proto.hpp"

namespace assay::model {
namespace {

using proto::model_error;

// The newest forms that libonnx 1.12 knows; above them only our own rules apply.
constexpr std::int64_t kNewestCheckedIr = 8;
constexpr std::int64_t kNewestCheckedOpset = 17;

using Names = std::unordered_set<std::string>;

core::Error undefined_input(const Node& node, const std::string& tensor) {
  return model_error(
      fmt::format("node \"{}\" ({}) reads \"{}\", which nothing defines", node.name, node.op_type, tensor), node.name,
      node.op_type, tensor);
}

core::Status normalize_scope(Graph& graph, const Names& outer, int depth);

/// Subgraphs are shared and immutable; a node whose subgraph needs sorting gets a sorted copy.
core::Status normalize_subgraphs(Node& node, const Names& visible, int depth) {
  for (auto& [name, attribute] : node.attributes) {
    if (auto* graph = std::get_if<GraphPtr>(&attribute); graph != nullptr && *graph != nullptr) {
      auto copy = std::make_shared<Graph>(**graph);
      if (core::Status status = normalize_scope(*copy, visible, depth + 1); !status) {
        return status.error().within(fmt::format("subgraph \"{}\" of node \"{}\"", name, node.name));
      }
      *graph = std::move(copy);
    }
  }
  return core::success();
}

core::Status define(Names& names, const std::string& name, std::string_view what) {
  if (name.empty()) {
    return model_error(fmt::format("{} has no name", what));
  }
  if (!names.insert(name).second) {
    return model_error(fmt::format("\"{}\" is defined twice ({})", name, what), {}, {}, name);
  }
  return core::success();
}

core::Status name_nodes(Graph& graph) {
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    Node& node = graph.nodes[index];
    if (node.op_type.empty()) {
      return model_error(fmt::format("node {} has no operator type", index), node.name);
    }
    if (node.name.empty()) {
      node.name = node.outputs.empty() || node.outputs.front().empty() ? fmt::format("{}_{}", node.op_type, index)
                                                                       : node.outputs.front();
    }
  }
  return core::success();
}

core::Status normalize_scope(Graph& graph, const Names& outer, int depth) {
  if (core::Status status = name_nodes(graph); !status) {
    return status;
  }
  Names defined;
  for (const ValueInfo& input : graph.inputs) {
    if (core::Status status = define(defined, input.name, "graph input"); !status) {
      return status;
    }
  }
  for (const auto& [name, tensor] : graph.initializers) {
    if (core::Status status = define(defined, name, "initializer"); !status) {
      return status;
    }
  }
  std::unordered_map<std::string, std::size_t> producer;
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node& node = graph.nodes[index];
    for (const std::string& output : node.outputs) {
      if (output.empty()) {
        continue;
      }
      if (core::Status status = define(defined, output, "output of node \"" + node.name + "\""); !status) {
        core::Error error = status.error();
        error.node = node.name;
        error.op = node.op_type;
        return error;
      }
      producer.emplace(output, index);
    }
  }

  // Kahn's algorithm, taking the earliest ready node first, so that a sorted graph stays as it is.
  std::vector<std::size_t> missing(graph.nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(graph.nodes.size());
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node& node = graph.nodes[index];
    std::vector<std::string> reads = captured_names(node);
    reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
    for (const std::string& input : reads) {
      if (input.empty()) {
        continue;
      }
      if (const auto found = producer.find(input); found != producer.end()) {
        readers[found->second].push_back(index);
        ++missing[index];
      } else if (!defined.contains(input) && !outer.contains(input)) {
        return undefined_input(node, input);
      }
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    if (missing[index] == 0) {
      ready.push(index);
    }
  }
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  Names visible = outer;
  visible.insert(defined.begin(), defined.end());
  while (!ready.empty()) {
    const std::size_t index = ready.top();
    ready.pop();
    if (core::Status status = normalize_subgraphs(graph.nodes[index], visible, depth); !status) {
      return status;
    }
    sorted.push_back(graph.nodes[index]);
    for (const std::size_t reader : readers[index]) {
      if (--missing[reader] == 0) {
        ready.push(reader);
      }
    }
  }
  if (sorted.size() != graph.nodes.size()) {
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
      if (missing[index] > 0) {
        const Node& node = graph.nodes[index];
        return model_error(fmt::format("the graph has a cycle through node \"{}\" ({})", node.name, node.op_type),
                           node.name, node.op_type);
      }
    }
  }
  graph.nodes = std::move(sorted);

  Names output_names;
  for (const ValueInfo& output : graph.outputs) {
    if (core::Status status = define(output_names, output.name, "graph output"); !status) {
      return status;
    }
    if (!defined.contains(output.name) && !outer.contains(output.name)) {
      return model_error(fmt::format("graph output \"{}\" is made by no node", output.name), {}, {}, output.name);
    }
  }
  return core::success();
}

/// What the checker doesn't say: whose shape is missing, and what adds it. "" where none is.
std::string shapeless_text(const Graph& graph) {
  for (const auto* values : {&graph.inputs, &graph.outputs}) {
    const auto bare = std::ranges::find_if(*values, [](const ValueInfo& value) { return !value.shape; });
    if (bare == values->end()) continue;
    return fmt::format(
        " \"{}\", an {} of the graph, declares no shape; onnx.shape_inference.infer_shapes(model) adds what follows "
        "from "
        "the rest, and an extent may be a name, for any",
        bare->name, values == &graph.inputs ? "input" : "output");
  }
  return "";
}

/// Above what ONNX's checker knows: the inputs that an operator needs since opset 17 or before are there, here and in
/// subgraphs. What reads them may take that for granted.
core::Status check_needed_inputs(const Graph& graph, std::int64_t opset) {
  for (const Node& node : graph.nodes) {
    const onnx::OpSchema* schema =
        node.domain.empty()
            ? onnx::OpSchemaRegistry::Schema(node.op_type, static_cast<int>(std::min(opset, kNewestCheckedOpset)))
            : nullptr;
    const std::size_t inputs = schema == nullptr ? 0 : schema->inputs().size();
    for (std::size_t i = 0; i < inputs; ++i) {
      const onnx::OpSchema::FormalParameter& input = schema->inputs()[i];
      if (input.GetOption() != onnx::OpSchema::Single || !node.input(i).empty()) continue;
      return model_error(
          fmt::format("node \"{}\" ({}) lacks its input {}, \"{}\"", node.name, node.op_type, i, input.GetName()),
          node.name, node.op_type);
    }
    for (const auto& [name, attribute] : node.attributes) {
      const auto* inner = std::get_if<GraphPtr>(&attribute);
      if (inner == nullptr || *inner == nullptr) continue;
      if (core::Status status = check_needed_inputs(**inner, opset); !status) return status;
    }
  }
  return core::success();
}

bool libonnx_knows(const Model& model) {
  return model.ir_version <= kNewestCheckedIr && model.opset() <= kNewestCheckedOpset;
}

}  // namespace

core::Status normalize(Graph& graph) { return normalize_scope(graph, {}, 0); }

core::Status check_model(const Model& model) {
  if (model.graph.outputs.empty()) {
    return model_error("the graph has no outputs");
  }
  for (const Node& node : model.graph.nodes) {
    if (!model.opsets.contains(node.domain)) {
      return model_error(fmt::format("node \"{}\" ({}) is of domain \"{}\", which the model doesn't import", node.name,
                                     node.op_type, node.domain),
                         node.name, node.op_type);
    }
  }
  for (const ValueInfo& input : model.graph.inputs) {
    if (core::element_size_bits(input.type) == 0) {
      return model_error(fmt::format("graph input \"{}\" has element type {}, which Assay doesn't read", input.name,
                                     static_cast<int>(input.type)),
                         {}, {}, input.name);
    }
  }
  if (!libonnx_knows(model)) {
    return check_needed_inputs(model.graph, model.opset());
  }
  try {
    onnx::checker::check_model(proto::encode_model(model));
  } catch (const std::exception& error) {
    return model_error(
        fmt::format("ONNX's checker refuses the model: {}{}", error.what(), shapeless_text(model.graph)));
  }
  return core::success();
}

}  // namespace assay::model
