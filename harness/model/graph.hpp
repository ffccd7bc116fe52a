#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/dtype.hpp"
#include "harness/core/tensor.hpp"

namespace assay::model {

using core::DType;
using core::Shape;
using core::Tensor;
using core::TensorMap;
using core::TensorPtr;

struct Graph;
using GraphPtr = std::shared_ptr<const Graph>;

/// One attribute value of a node.
using Attribute = std::variant<std::int64_t, double, std::string, TensorPtr, GraphPtr, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;

/// An operator application. An optional input that is left out is an empty name.
struct Node {
  std::string name;  ///< never empty after loading: an unnamed node takes its first output's name
  std::string op_type;
  std::string domain;  ///< "" is ONNX's own (also "ai.onnx" in files)
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
  /// The file gives it no name; what is written from it has none while `name` is its first output's.
  bool unnamed = false;

  [[nodiscard]] bool has(std::string_view attribute) const;
  /// The attribute's value, or `fallback` when it is absent or of another kind.
  [[nodiscard]] std::int64_t int_or(std::string_view attribute, std::int64_t fallback) const;
  [[nodiscard]] double float_or(std::string_view attribute, double fallback) const;
  [[nodiscard]] std::string string_or(std::string_view attribute, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::int64_t> ints_or(std::string_view attribute,
                                                  std::vector<std::int64_t> fallback = {}) const;
  [[nodiscard]] std::vector<double> floats_or(std::string_view attribute, std::vector<double> fallback = {}) const;
  /// The tensor or subgraph attribute, or null.
  [[nodiscard]] TensorPtr tensor(std::string_view attribute) const;
  [[nodiscard]] GraphPtr graph(std::string_view attribute) const;
  /// Input `index`'s name, "" when absent.
  [[nodiscard]] std::string_view input(std::size_t index) const;
  /// Equal tensors and subgraphs are the same objects.
  friend bool operator==(const Node&, const Node&) = default;
};

/// "Conv", or "com.microsoft.FastGelu" where the domain isn't ONNX's own: an operator's key wherever operators are
/// listed.
[[nodiscard]] std::string operator_name(const Node& node);
[[nodiscard]] std::string operator_name(std::string_view domain, std::string_view op_type);
/// Makes `node` one of the operator that `name` is the operator_name of.
void set_operator(Node& node, std::string_view name);

/// One extent of a declared shape: a number, or a name ("batch"), or unknown (neither).
struct Dimension {
  std::optional<std::int64_t> value;
  std::string symbol;
  friend bool operator==(const Dimension&, const Dimension&) = default;
};

/// Declared type and shape of a graph input, output or intermediate. No shape means unknown rank.
struct ValueInfo {
  std::string name;
  DType type = DType::undefined;
  std::optional<std::vector<Dimension>> shape;
  friend bool operator==(const ValueInfo&, const ValueInfo&) = default;
};

/// A graph whose nodes stand in topological order after loading.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> inputs;  ///< without the names that are also initializers
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_info;
  std::map<std::string, TensorPtr> initializers;

  [[nodiscard]] const ValueInfo* find_input(std::string_view name) const;
  [[nodiscard]] const ValueInfo* find_output(std::string_view name) const;
  /// The initializer of that name, or null.
  [[nodiscard]] const Tensor* initializer(std::string_view name) const;
  friend bool operator==(const Graph&, const Graph&) = default;  ///< as of nodes
};

struct Model {
  Graph graph;
  std::map<std::string, std::int64_t> opsets;  ///< domain → version; "" is ONNX's own
  std::int64_t ir_version = 8;
  std::string producer;
  std::map<std::string, std::string> metadata;

  [[nodiscard]] std::int64_t opset() const;
  friend bool operator==(const Model&, const Model&) = default;  ///< as of nodes
};

/// Who makes and who reads each tensor, by node index. Rebuild after editing the graph.
class Wiring {
 public:
  explicit Wiring(const Graph& graph);
  /// Index of the node that produces `tensor`, or nothing (graph input, initializer, unknown).
  [[nodiscard]] std::optional<std::size_t> producer(std::string_view tensor) const;
  /// Indices of the nodes that read `tensor`, in order, each once. Includes readers inside subgraphs.
  [[nodiscard]] const std::vector<std::size_t>& consumers(std::string_view tensor) const;
  [[nodiscard]] bool is_output(std::string_view tensor) const;

 private:
  std::map<std::string, std::size_t, std::less<>> producers_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> consumers_;
  std::set<std::string, std::less<>> outputs_;
};

/// QuantizeLinear or DequantizeLinear.
[[nodiscard]] bool is_quantizer(const Node& node);
/// Whether a node of the graph is one, so that the model is quantized already.
[[nodiscard]] bool is_quantized(const Graph& graph);

/// Names that subgraphs of `node` read from outside.
[[nodiscard]] std::vector<std::string> captured_names(const Node& node);

/// A name that no tensor or node of `graph` has, made from `stem`.
[[nodiscard]] std::string fresh_name(const Graph& graph, std::string_view stem);

}  // namespace assay::model
