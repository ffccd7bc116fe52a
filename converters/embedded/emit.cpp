#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/scales.hpp"
#include "harness/model/rename.hpp"

namespace assay::embedded {
namespace {

using model::Node;

/// Builds the Q/DQ graph next to the float one, node by node, so that it comes out in topological order.
class Emitter {
 public:
  explicit Emitter(State& state) : state_(state), names_(state.model.graph), wiring_(state.model.graph) {
    state.artifact = state.model;
    state.artifact.graph.nodes.clear();
    state.artifact.graph.value_info.clear();
    state.tensors.clear();
  }

  Status run() {
    const auto& graph = state_.model.graph;
    for (const auto& input : graph.inputs) {
      if (state_.plan.quantized.contains(input.name)) {
        if (auto done = quantize(input.name, input.name, dequantized_name(input.name)); !done) return done;
      }
    }
    for (const auto& [name, codes] : state_.constant_codes) {
      const auto params = params_of(name);
      if (!params) return params.error();
      read_as_[name] = put_constant(name, Coded{*params, codes});
      list(name, *params);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (auto done = add_node(i); !done) return done;
    }
    finish();
    return core::success();
  }

 private:
  [[nodiscard]] Result<QuantParams> params_of(const std::string& tensor) const {
    if (const auto found = state_.params.find(tensor); found != state_.params.end()) return found->second;
    return Error{ErrorKind::internal, fmt::format("missing scale and zero_point for tensor \"{}\"", tensor), "", "",
                 tensor};
  }

  void list(const std::string& tensor, const QuantParams& params) { state_.tensors.push_back({tensor, params}); }

  std::string dequantized_name(const std::string& tensor) { return names_.fresh(tensor + "_dequantized"); }

  std::string initializer(const std::string& stem, Tensor value) {
    auto name = names_.fresh(stem);
    state_.artifact.graph.initializers[name] = std::make_shared<const Tensor>(std::move(value));
    return name;
  }

  struct ParamNames {
    std::string scale, zero_point;
  };
  /// Parameters of a tensor of `of` where they are those of blocks.
  ParamNames put_params(const std::string& tensor, const QuantParams& params, const core::Shape& of = {}) {
    const auto count = static_cast<std::int64_t>(params.scale.size());
    const core::Shape shape = params.block != 0 ? ScaleIndex(of, params.axis, params.block).shape()
                              : params.axis     ? core::Shape{count}
                                                : core::Shape{};
    return {put_scales(tensor, params, shape), initializer(tensor + "_zero_point", zero_points(params, shape))};
  }

  /// Scales as they are stored: numbers of their type, or codes behind a DequantizeLinear of their own.
  std::string put_scales(const std::string& tensor, const QuantParams& params, const core::Shape& shape) {
    if (params.scale_type == DType::float32 || params.scale_type == DType::float8e8m0)
      return initializer(tensor + "_scale", core::rounded_to_type(Tensor(params.scale_type, shape, params.scale)));
    QuantParams own{params.scale_step, {0}, params.scale_type, {}};
    const Tensor values(DType::float32, shape, params.scale);
    const auto codes = initializer(tensor + "_scale_quantized", codes_of(values, own));
    const auto step = initializer(tensor + "_scale_scale", Tensor::scalar(DType::float32, own.scale.front()));
    auto target = names_.fresh(tensor + "_scale");
    state_.artifact.graph.nodes.push_back(make_node("DequantizeLinear", tensor + "_scale", {codes, step}, target, own));
    return target;
  }

  static Tensor zero_points(const QuantParams& params, const core::Shape& shape) {
    if (!core::is_real(params.type)) return {params.type, shape, params.zero_point};
    return Tensor::zeros(params.type, shape);
  }

  Node make_node(const std::string& op, const std::string& tensor, std::vector<std::string> inputs,
                 const std::string& output, const QuantParams& params) {
    Node node{names_.fresh(tensor + "_" + op), op, "", std::move(inputs), {output}, {}};
    if (params.axis) node.attributes["axis"] = *params.axis;
    if (params.block != 0) node.attributes["block_size"] = params.block;
    if (params.scale_type == DType::float8e8m0)
      node.attributes["output_dtype"] = static_cast<std::int64_t>(DType::float32);  // else it is the scale's
    return node;
  }

  /// source → QuantizeLinear → DequantizeLinear → `target`; readers of codes read `target` from now on.
  Status quantize(const std::string& tensor, const std::string& source, const std::string& target) {
    const auto params = params_of(tensor);
    if (!params) return params.error();
    const auto names = put_params(tensor, *params);
    const auto codes = names_.fresh(tensor + "_quantized");
    auto& nodes = state_.artifact.graph.nodes;
    nodes.push_back(make_node("QuantizeLinear", tensor, {source, names.scale, names.zero_point}, codes, *params));
    nodes.push_back(make_node("DequantizeLinear", tensor, {codes, names.scale, names.zero_point}, target, *params));
    read_as_[tensor] = target;
    list(tensor, *params);
    return core::success();
  }

  std::string put_constant(const std::string& tensor, const Coded& coded) {
    const auto names = put_params(tensor, coded.params, coded.codes.shape());
    const auto codes = initializer(tensor + "_quantized", coded.codes);
    auto target = dequantized_name(tensor);
    state_.artifact.graph.nodes.push_back(
        make_node("DequantizeLinear", tensor, {codes, names.scale, names.zero_point}, target, coded.params));
    return target;
  }

  /// A constant of a node; nodes that share a constant and its parameters share its codes.
  std::string put_shared(const std::string& tensor, const Coded& coded) {
    for (const auto& [params, target] : constants_[tensor]) {
      if (params == coded.params) return target;
    }
    auto target = put_constant(tensor, coded);
    constants_[tensor].emplace_back(coded.params, target);
    list(tensor, coded.params);
    return target;
  }

  /// tensor → DynamicQuantizeLinear → DequantizeLinear; readers of one tensor share them.
  std::string put_dynamic(const std::string& tensor) {
    const auto [found, is_new] = dynamic_.try_emplace(tensor);
    if (!is_new) return found->second;
    const std::vector<std::string> codes{names_.fresh(tensor + "_quantized"), names_.fresh(tensor + "_scale"),
                                         names_.fresh(tensor + "_zero_point")};
    auto& nodes = state_.artifact.graph.nodes;
    nodes.push_back(
        {names_.fresh(tensor + "_DynamicQuantizeLinear"), "DynamicQuantizeLinear", "", {tensor}, codes, {}});
    found->second = dequantized_name(tensor);
    nodes.push_back({names_.fresh(tensor + "_DequantizeLinear"), "DequantizeLinear", "", codes, {found->second}, {}});
    return found->second;
  }

  /// True where `tensor` exists as codes only: whoever reads it reads the dequantized form.
  [[nodiscard]] bool only_codes(const std::string& tensor) const {
    const auto producer = wiring_.producer(tensor);
    return producer && state_.plan.nodes[*producer].form == Form::int8;
  }

  Status add_node(std::size_t index) {
    const auto& plan = state_.plan.nodes[index];
    Node node = state_.model.graph.nodes[index];
    const auto original = node.inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = read_as_.find(original[i]);
      if (found == read_as_.end()) continue;
      const bool operand = std::ranges::find(plan.operands, i) != plan.operands.end();
      if (operand || only_codes(original[i])) node.inputs[i] = found->second;
    }
    read_codes_inside(node);
    if (plan.form == Form::fp32 && (!state_.imported || plan.chosen)) keep_from_codes(node);
    const auto& codes = state_.codes[index];
    if (plan.dynamic) node.inputs[*plan.dynamic] = put_dynamic(original[*plan.dynamic]);
    if (codes.weight) node.inputs[*plan.weight] = put_shared(original[*plan.weight], *codes.weight);
    if (codes.bias) node.inputs[*plan.bias] = put_shared(original[*plan.bias], *codes.bias);

    std::vector<std::pair<std::string, std::string>> quantized;  // tensor, and what the node makes in its place
    for (auto& output : node.outputs) {
      if (!state_.plan.quantized.contains(output)) continue;
      const auto tensor = output;
      if (plan.form == Form::int8 && wiring_.is_output(tensor)) output = names_.fresh(tensor + "_float");
      quantized.emplace_back(tensor, output);
    }
    state_.artifact.graph.nodes.push_back(std::move(node));
    for (const auto& [tensor, source] : quantized) {
      const auto target = source == tensor ? dequantized_name(tensor) : tensor;
      if (auto done = quantize(tensor, source, target); !done) return done;
    }
    return core::success();
  }

  /// Subgraphs read what exists as codes only in its dequantized form, too.
  void read_codes_inside(Node& node) const {
    std::map<std::string, std::string> read_as;
    for (const auto& name : model::captured_names(node)) {
      const auto found = read_as_.find(name);
      if (found != read_as_.end() && only_codes(name)) read_as.insert(*found);
    }
    if (read_as.empty()) return;
    change_subgraphs(node, [&](model::Graph& subgraph) { model::rename_tensors(subgraph, read_as); });
  }

  /// A node that is to run in float between DequantizeLinear and QuantizeLinear looks like one that is to run on codes.
  /// An Identity on what it reads tells them apart.
  void keep_from_codes(Node& node) {
    const auto quantized = [&](const std::string& output) { return is_quantized(output); };
    if (std::ranges::none_of(node.outputs, quantized)) return;
    auto& nodes = state_.artifact.graph.nodes;
    for (auto& input : node.inputs) {
      const auto made = std::ranges::find_if(nodes, [&](const Node& before) {
        return before.op_type == "DequantizeLinear" && before.outputs[0] == input;
      });
      if (made == nodes.end()) continue;
      const auto target = names_.fresh(input + "_float");
      nodes.push_back({names_.fresh(node.name + "_in_float"), "Identity", "", {input}, {target}, {}});
      input = target;
    }
  }

  /// True where `tensor` goes into a QuantizeLinear, of ours or of the model's own, over at most one Relu or Clip.
  [[nodiscard]] bool is_quantized(const std::string& tensor) const {
    if (state_.plan.quantized.contains(tensor)) return true;
    const auto& nodes = state_.model.graph.nodes;
    return std::ranges::any_of(wiring_.consumers(tensor), [&](std::size_t reader) {
      const auto& op = nodes[reader].op_type;
      if (op == "QuantizeLinear") return true;
      return (op == "Relu" || op == "Clip") && is_quantized(nodes[reader].outputs.front());
    });
  }

  /// Tensors whose parameters the model's own Q/DQ nodes declare: by the float tensor's name, constants by the name of
  /// the float constant they were made from, else of their codes.
  void list_authored() {
    if (!state_.imported) return;
    const auto& graph = state_.artifact.graph;
    std::map<std::string, std::string> sources;
    for (const auto& node : state_.original.graph.nodes) {
      if (node.op_type == "QuantizeLinear") sources[node.outputs[0]] = node.inputs[0];
    }
    std::set<std::string> listed;
    for (const auto& tensor : state_.tensors) listed.insert(tensor.name);
    for (const auto& node : graph.nodes) {
      const bool quantizes = node.op_type == "QuantizeLinear";
      const bool constant = node.op_type == "DequantizeLinear" && graph.initializers.contains(node.inputs[0]);
      if (!quantizes && !constant) continue;
      auto name = node.inputs[0];
      if (const auto source = sources.find(name); constant && source != sources.end()) name = source->second;
      const auto params = declared_params(graph, node);
      if (params && listed.insert(name).second) list(name, *params);
    }
  }

  void finish() {
    list_authored();
    auto& artifact = state_.artifact;
    remove_dead(artifact.graph);
    constexpr std::int64_t kIrVersion = 8;  // the first that knows every opset up to 18
    artifact.ir_version = std::max(artifact.ir_version, kIrVersion);
    artifact.producer = "assay embedded";
  }

  State& state_;
  Names names_;
  model::Wiring wiring_;
  std::map<std::string, std::string> read_as_;  ///< quantized tensor → its dequantized form
  std::map<std::string, std::vector<std::pair<QuantParams, std::string>>> constants_;
  std::map<std::string, std::string> dynamic_;  ///< tensor → what its DynamicQuantizeLinear gives, dequantized
};

}  // namespace

Status emit(State& state) {
  auto done = Emitter(state).run();
  if (done) put_half_ends(state.artifact, state.half_ends);
  return done;
}

}  // namespace assay::embedded
