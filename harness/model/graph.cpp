#include "harness/model/graph.hpp"

#include <algorithm>

namespace assay::model {
namespace {

template <typename T>
const T* attribute_as(const Node& node, std::string_view attribute) {
  const auto found = node.attributes.find(std::string(attribute));
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

const ValueInfo* find_info(const std::vector<ValueInfo>& infos, std::string_view name) {
  const auto found = std::find_if(infos.begin(), infos.end(), [&](const ValueInfo& info) { return info.name == name; });
  return found == infos.end() ? nullptr : &*found;
}

void collect_captured(const Graph& graph, std::set<std::string>& captured) {
  std::set<std::string> defined;
  for (const ValueInfo& input : graph.inputs) {
    defined.insert(input.name);
  }
  for (const auto& [name, tensor] : graph.initializers) {
    defined.insert(name);
  }
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      defined.insert(output);
    }
  }
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !defined.contains(name)) {
      captured.insert(name);
    }
  };
  for (const Node& node : graph.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), read);
    for (const std::string& name : captured_names(node)) {
      read(name);
    }
  }
  for (const ValueInfo& output : graph.outputs) {
    read(output.name);
  }
}

}  // namespace

std::string operator_name(const Node& node) { return operator_name(node.domain, node.op_type); }

std::string operator_name(std::string_view domain, std::string_view op_type) {
  return domain.empty() ? std::string(op_type) : std::string(domain) + "." + std::string(op_type);
}

void set_operator(Node& node, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  node.domain = dot == std::string_view::npos ? "" : name.substr(0, dot);
  node.op_type = dot == std::string_view::npos ? name : name.substr(dot + 1);
}

bool Node::has(std::string_view attribute) const { return attributes.contains(std::string(attribute)); }

std::int64_t Node::int_or(std::string_view attribute, std::int64_t fallback) const {
  const auto* value = attribute_as<std::int64_t>(*this, attribute);
  return value != nullptr ? *value : fallback;
}

double Node::float_or(std::string_view attribute, double fallback) const {
  const auto* value = attribute_as<double>(*this, attribute);
  return value != nullptr ? *value : fallback;
}

std::string Node::string_or(std::string_view attribute, std::string_view fallback) const {
  const auto* value = attribute_as<std::string>(*this, attribute);
  return value != nullptr ? *value : std::string(fallback);
}

std::vector<std::int64_t> Node::ints_or(std::string_view attribute, std::vector<std::int64_t> fallback) const {
  const auto* value = attribute_as<std::vector<std::int64_t>>(*this, attribute);
  if (value != nullptr) return *value;
  return fallback;
}

std::vector<double> Node::floats_or(std::string_view attribute, std::vector<double> fallback) const {
  const auto* value = attribute_as<std::vector<double>>(*this, attribute);
  if (value != nullptr) return *value;
  return fallback;
}

TensorPtr Node::tensor(std::string_view attribute) const {
  const auto* value = attribute_as<TensorPtr>(*this, attribute);
  return value != nullptr ? *value : nullptr;
}

GraphPtr Node::graph(std::string_view attribute) const {
  const auto* value = attribute_as<GraphPtr>(*this, attribute);
  return value != nullptr ? *value : nullptr;
}

std::string_view Node::input(std::size_t index) const {
  return index < inputs.size() ? std::string_view(inputs[index]) : std::string_view();
}

const ValueInfo* Graph::find_input(std::string_view tensor) const { return find_info(inputs, tensor); }
const ValueInfo* Graph::find_output(std::string_view tensor) const { return find_info(outputs, tensor); }

const Tensor* Graph::initializer(std::string_view tensor) const {
  const auto found = initializers.find(std::string(tensor));
  return found == initializers.end() ? nullptr : found->second.get();
}

std::int64_t Model::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 0 : found->second;
}

Wiring::Wiring(const Graph& graph) {
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node& node = graph.nodes[index];
    for (const std::string& output : node.outputs) {
      if (!output.empty()) {
        producers_.emplace(output, index);
      }
    }
    const auto read = [&](const std::string& name) {
      if (name.empty()) {
        return;
      }
      std::vector<std::size_t>& readers = consumers_[name];
      if (readers.empty() || readers.back() != index) {
        readers.push_back(index);
      }
    };
    std::for_each(node.inputs.begin(), node.inputs.end(), read);
    for (const std::string& name : captured_names(node)) {
      read(name);
    }
  }
  for (const ValueInfo& output : graph.outputs) {
    outputs_.insert(output.name);
  }
}

std::optional<std::size_t> Wiring::producer(std::string_view tensor) const {
  const auto found = producers_.find(tensor);
  return found == producers_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::size_t>& Wiring::consumers(std::string_view tensor) const {
  static const std::vector<std::size_t> none;
  const auto found = consumers_.find(tensor);
  return found == consumers_.end() ? none : found->second;
}

bool Wiring::is_output(std::string_view tensor) const { return outputs_.contains(tensor); }

bool is_quantizer(const Node& node) { return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear"; }

bool is_quantized(const Graph& graph) { return std::ranges::any_of(graph.nodes, is_quantizer); }

std::vector<std::string> captured_names(const Node& node) {
  std::set<std::string> captured;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* graph = std::get_if<GraphPtr>(&attribute); graph != nullptr && *graph != nullptr) {
      collect_captured(**graph, captured);
    }
  }
  return {captured.begin(), captured.end()};
}

std::string fresh_name(const Graph& graph, std::string_view stem) {
  std::set<std::string, std::less<>> taken;
  for (const ValueInfo& input : graph.inputs) {
    taken.insert(input.name);
  }
  for (const auto& [name, tensor] : graph.initializers) {
    taken.insert(name);
  }
  for (const Node& node : graph.nodes) {
    taken.insert(node.name);
    taken.insert(node.outputs.begin(), node.outputs.end());
    const std::vector<std::string> captured = captured_names(node);
    taken.insert(captured.begin(), captured.end());
  }
  std::string name(stem);
  for (int suffix = 1; taken.contains(name); ++suffix) {
    name = std::string(stem) + "_" + std::to_string(suffix);
  }
  return name;
}

}  // namespace assay::model
