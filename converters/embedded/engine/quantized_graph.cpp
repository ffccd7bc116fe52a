#include "converters/embedded/engine/quantized_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "converters/embedded/engine/integer_kernel.hpp"

namespace assay::embedded::engine {
namespace {

const Buffer* find(const Constants& constants, std::string_view name) {
  const auto it = constants.find(name);
  return it == constants.end() ? nullptr : &it->second;
}

bool is_onnx(const Node& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

/// Narrows `out` to what a Relu or Clip before it lets through; false where that is not known.
bool fuse_activation(const Node& activation, const Constants& constants, const ArithmeticPolicy& policy,
                     OutputCodes& out) {
  if (activation.op_type == "Relu") {
    narrow_to_relu(out, policy);
    return true;
  }
  if (activation.op_type != "Clip") return false;
  const Buffer* const inputs[] = {nullptr, find(constants, activation.input(1)), find(constants, activation.input(2))};
  const auto limits = clip_limits(activation, inputs);
  if (!limits) return false;
  narrow(out, limits->low, limits->high, policy);
  return true;
}

/// Looks for integer forms; holds what all nodes share.
class Finder {
 public:
  Finder(const model::Graph& graph, std::int64_t opset, const Constants& constants, const ArithmeticPolicy& policy)
      : graph_(graph), opset_(opset), constants_(constants), policy_(policy), wiring_(graph) {
    for (const Node& node : graph.nodes) {
      if (is_onnx(node) && node.op_type == "DequantizeLinear") remember_dequantized(node);
    }
  }

  Result<std::map<std::size_t, IntegerNode>> run() {
    std::map<std::size_t, IntegerNode> found;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const auto maker = integer_makers().find(node.op_type);
      if (!is_onnx(node) || maker == integer_makers().end() || activations_.contains(i)) continue;
      auto made = try_node(node, maker->second);
      if (!made) return at_node(made.error(), node);
      if (made->kernel) found.emplace(i, std::move(*made));
    }
    return found;
  }

 private:
  struct Dequantized {
    std::string codes;
    core::QuantParams params;
  };

  void remember_dequantized(const Node& node) {
    auto params = constant_params(node, constants_);
    if (!params || node.outputs.empty()) return;
    if (params->type == DType::undefined) params->type = code_type(node.input(0));
    dequantized_[node.outputs[0]] = {std::string(node.input(0)), std::move(*params)};
  }

  /// The element type of a tensor of codes whose DequantizeLinear has no zero_point to tell.
  DType code_type(std::string_view name) const {
    if (const Buffer* constant = find(constants_, name)) return constant->type();
    if (const auto* input = graph_.find_input(name)) return input->type;
    const auto producer = wiring_.producer(name);
    if (!producer || graph_.nodes[*producer].op_type != "QuantizeLinear") return DType::undefined;
    const auto params = constant_params(graph_.nodes[*producer], constants_);
    return params ? params->type : DType::undefined;
  }

  /// The only node that reads the elements of `tensor`, where there is just one and nobody outside sees the tensor.
  std::optional<std::size_t> only_reader(std::string_view tensor) const {
    if (wiring_.is_output(tensor)) return std::nullopt;
    std::optional<std::size_t> only;
    for (const std::size_t reader : wiring_.consumers(tensor)) {
      if (reads_shape_only(graph_.nodes[reader])) continue;
      if (only) return std::nullopt;
      only = reader;
    }
    return only;
  }

  /// Follows one output of a node to the QuantizeLinear that takes it, over at most one Relu or Clip.
  std::optional<OutputCodes> follow(std::string_view tensor, IntegerNode& found) {
    auto reader = only_reader(tensor);
    if (!reader) return std::nullopt;
    const Node* activation = nullptr;
    const Node* next = &graph_.nodes[*reader];
    if (is_onnx(*next) && (next->op_type == "Relu" || next->op_type == "Clip") && next->input(0) == tensor) {
      activation = next;
      found.covered.push_back(*reader);
      found.names.push_back(next->name);
      reader = only_reader(next->outputs[0]);
      if (!reader) return std::nullopt;
      next = &graph_.nodes[*reader];
    }
    const std::string_view last = activation != nullptr ? std::string_view(activation->outputs[0]) : tensor;
    if (!is_onnx(*next) || next->op_type != "QuantizeLinear" || next->input(0) != last) return std::nullopt;
    const auto params = constant_params(*next, constants_);
    if (!params || params->scale.size() != 1 || (params->type != DType::int8 && params->type != DType::uint8)) {
      return std::nullopt;
    }
    OutputCodes out = output_codes(params->type, params->scale[0], params->zero_point[0]);
    if (activation != nullptr && !fuse_activation(*activation, constants_, policy_, out)) return std::nullopt;
    found.covered.push_back(*reader);
    found.outputs.push_back(next->outputs[0]);
    found.shapes.emplace(tensor, next->outputs[0]);
    found.shapes.emplace(last, next->outputs[0]);
    return out;
  }

  Result<IntegerNode> try_node(const Node& node, IntegerMaker maker) {
    IntegerNode found;
    found.names.push_back(node.name);
    std::vector<OutputCodes> outputs;
    for (const std::string& output : node.outputs) {
      if (output.empty()) return IntegerNode{};
      const auto out = follow(output, found);
      if (!out) return IntegerNode{};
      outputs.push_back(*out);
    }
    std::vector<Operand> operands;
    for (const std::string& input : node.inputs) {
      Operand operand;
      const auto dequantized = dequantized_.find(input);
      if (dequantized != dequantized_.end()) {
        operand.kind = Operand::Kind::codes;
        operand.params = dequantized->second.params;
        found.inputs.push_back(dequantized->second.codes);
      } else {
        if (!input.empty()) operand.kind = Operand::Kind::plain;
        found.inputs.push_back(input);
      }
      operand.constant = find(constants_, found.inputs.back());
      operands.push_back(std::move(operand));
    }
    auto kernel = maker({node, opset_, operands, outputs, policy_});
    if (!kernel) return kernel.error();
    if (!*kernel) return IntegerNode{};
    found.kernel = std::move(*kernel);
    for (const std::size_t index : found.covered) activations_.insert(index);
    return found;
  }

  const model::Graph& graph_;
  std::int64_t opset_;
  const Constants& constants_;
  const ArithmeticPolicy& policy_;
  model::Wiring wiring_;
  std::map<std::string, Dequantized, std::less<>> dequantized_;
  std::set<std::size_t> activations_;  // already covered by their producer
};

}  // namespace

bool reads_shape_only(const Node& node) { return is_onnx(node) && (node.op_type == "Shape" || node.op_type == "Size"); }

std::optional<core::QuantParams> constant_params(const Node& node, const Constants& constants) {
  const Buffer* scale = find(constants, node.input(1));
  if (scale == nullptr || scale->type() != DType::float32 || scale->size() == 0) return std::nullopt;
  if (scale->rank() > 1 || node.int_or("block_size", 0) != 0) return std::nullopt;
  core::QuantParams params;
  params.type = DType::undefined;
  for (const float value : scale->span<float>()) {
    // A scale that is no step can't be a factor; the float kernels then do what ONNX's text says.
    if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
    params.scale.push_back(static_cast<double>(value));
  }
  if (scale->size() > 1) params.axis = node.int_or("axis", 1);
  params.zero_point.assign(params.scale.size(), 0);
  if (!node.input(2).empty()) {
    const Buffer* zero_point = find(constants, node.input(2));
    if (zero_point == nullptr || zero_point->size() != scale->size() || !core::is_integer(zero_point->type())) {
      return std::nullopt;
    }
    params.type = zero_point->type();
    params.zero_point = zero_point->to_integers();
  } else if (node.op_type == "QuantizeLinear") {
    params.type = static_cast<DType>(node.int_or("output_dtype", static_cast<std::int64_t>(DType::uint8)));
  }
  return params;
}

Result<std::map<std::size_t, IntegerNode>> find_integer_nodes(const model::Graph& graph, std::int64_t opset,
                                                              const Constants& constants,
                                                              const ArithmeticPolicy& policy) {
  return Finder(graph, opset, constants, policy).run();
}

core::Error at_node(core::Error error, const Node& node) {
  if (!error.node.empty()) return error;
  error.node = node.name;
  error.op = node.op_type;
  return error.within(fmt::format("node \"{}\" ({})", node.name, node.op_type));
}

}  // namespace assay::embedded::engine
