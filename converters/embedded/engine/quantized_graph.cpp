#include "converters/embedded/engine/quantized_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "converters/embedded/engine/integer_kernel.hpp"

namespace assay::embedded::engine {
namespace {

const Buffer* find(const Constants& constants, std::string_view name) {
  const auto it = constants.find(name);
  return it == constants.end() ? nullptr : &it->second;
}

bool is_onnx(const Node& node) { return node.domain.empty(); }

/// Narrows `out` to what a Relu or Clip before it lets through; false where that is not known.
bool fuse_activation(const Node& activation, const Constants& constants, const ArithmeticPolicy& policy,
                     OutputCodes& out) {
  if (activation.op_type == "Relu") {
    narrow_to_relu(out, policy);
    return true;
  }
  if (activation.op_type != "Clip") return false;
  const std::array<const Buffer*, 3> inputs{nullptr, find(constants, activation.input(1)),
                                            find(constants, activation.input(2))};
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
      const auto maker = integer_makers().find(model::operator_name(node));
      if (maker == integer_makers().end() || activations_.contains(i)) continue;
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

  /// The nodes that read the elements of `tensor`; none where somebody outside sees the tensor.
  std::vector<std::size_t> element_readers(std::string_view tensor) const {
    if (wiring_.is_output(tensor)) return {};
    std::vector<std::size_t> readers = wiring_.consumers(tensor);
    std::erase_if(readers, [&](std::size_t reader) { return reads_shape_only(graph_.nodes[reader]); });
    return readers;
  }

  /// A Relu or Clip that alone reads `tensor`.
  const Node* only_activation(const std::vector<std::size_t>& readers, std::string_view tensor) const {
    if (readers.size() != 1) return nullptr;
    const Node& reader = graph_.nodes[readers.front()];
    const bool limits = is_onnx(reader) && (reader.op_type == "Relu" || reader.op_type == "Clip");
    return limits && reader.input(0) == tensor ? &reader : nullptr;
  }

  /// Where one output of a node goes as codes.
  struct Target {
    OutputCodes out;
    std::string codes;
  };

  /// Follows one output of a node to the QuantizeLinear nodes that take it, over at most one Relu or Clip. None where
  /// anybody else reads it.
  std::vector<Target> follow(std::string_view tensor, IntegerNode& found) {
    auto readers = element_readers(tensor);
    std::string_view last = tensor;
    // An Identity keeps what reads it from the codes (emit.cpp).
    const auto maker = wiring_.producer(tensor);
    const bool apart = maker && graph_.nodes[*maker].op_type == "Identity";
    const Node* activation = apart ? nullptr : only_activation(readers, tensor);
    if (activation != nullptr) {
      found.covered.push_back(readers.front());
      found.names.push_back(activation->name);
      last = activation->outputs[0];
      readers = element_readers(last);
    }
    std::vector<Target> targets;
    for (const std::size_t reader : readers) {
      const Node& next = graph_.nodes[reader];
      if (!is_onnx(next) || next.op_type != "QuantizeLinear" || next.input(0) != last) return {};
      const auto params = constant_params(next, constants_);
      if (!params || params->scale.size() != 1 || (params->type != DType::int8 && params->type != DType::uint8)) {
        return {};
      }
      OutputCodes out = output_codes(params->type, params->scale[0], params->zero_point[0]);
      if (activation != nullptr && !fuse_activation(*activation, constants_, policy_, out)) return {};
      found.covered.push_back(reader);
      targets.push_back({out, next.outputs[0]});
    }
    if (targets.empty()) return {};
    found.shapes.emplace(tensor, targets.front().codes);
    found.shapes.emplace(last, targets.front().codes);
    return targets;
  }

  std::vector<Operand> operands_of(const Node& node, IntegerNode& found) const {
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
    return operands;
  }

  Result<IntegerNode> try_node(const Node& node, IntegerMaker maker) {
    IntegerNode found;
    found.names.push_back(node.name);
    const std::vector<Operand> operands = operands_of(node, found);
    std::vector<std::vector<Target>> targets;
    for (const std::string& output : node.outputs) {
      if (!output.empty()) targets.push_back(follow(output, found));
      if (output.empty() || targets.back().empty()) {
        return sums_products(node.op_type) ? left_in_float(node, maker) : IntegerNode{};
      }
    }
    // A result that several QuantizeLinear nodes take is computed for each; only a single result may be.
    const std::size_t times = targets.size() == 1 ? targets[0].size() : 1;
    std::vector<Kernel> kernels;
    for (std::size_t i = 0; i < times; ++i) {
      std::vector<OutputCodes> outputs;
      for (const auto& own : targets) {
        if (targets.size() > 1 && own.size() > 1) return IntegerNode{};
        outputs.push_back(own[i].out);
        found.outputs.push_back(own[i].codes);
      }
      auto kernel = maker({node, opset_, operands, outputs, policy_});
      if (!kernel) return kernel.error();
      if (!*kernel) return IntegerNode{};
      kernels.push_back(std::move(*kernel));
    }
    found.kernel = times == 1 ? std::move(kernels[0]) : in_turn(std::move(kernels));
    for (const std::size_t index : found.covered) activations_.insert(index);
    return found;
  }

  /// The form that sums on codes and leaves the result in float.
  Result<IntegerNode> left_in_float(const Node& node, IntegerMaker maker) const {
    IntegerNode found;
    const std::vector<Operand> operands = operands_of(node, found);
    OutputCodes out;
    out.type = DType::float32;
    auto kernel = maker({node, opset_, operands, {&out, 1}, policy_});
    if (!kernel) return kernel.error();
    found.kernel = std::move(*kernel);
    found.names = {node.name};
    found.outputs = {node.outputs[0]};
    return found;
  }

  /// Each kernel makes one of the outputs.
  static Kernel in_turn(std::vector<Kernel> kernels) {
    return [kernels = std::move(kernels)](const Call& call) -> Status {
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (auto status = kernels[i]({call.inputs, call.outputs.subspan(i, 1)}); !status) return status;
      }
      return core::success();
    };
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
