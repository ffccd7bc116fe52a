#include <fmt/format.h>

#include <algorithm>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/layer_norm.hpp"
#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/simplify.hpp"
#include "converters/embedded/support.hpp"

namespace assay::embedded {
namespace {

using model::Node;
using model::Wiring;

bool computes_real_data(const State& state, const Node& node) {
  if (model::is_quantizer(node)) return false;
  return std::ranges::any_of(node.outputs, [&](const auto& output) {
    const auto facts = state.facts.find(output);
    return facts != state.facts.end() && core::is_real(facts->second.type);
  });
}

/// The weight is quantized, in blocks along what is summed where those of a matrix are asked for; with option dynamic,
/// so is what it is multiplied with, in each inference.
Result<NodePlan> plan_weight(const State& state, const Node& node, NodePlan plan) {
  NodePlan fitted = plan;
  fitted.reason = fit_node(state, node, fitted);
  if (!fitted.reason.empty() || !fitted.weight) {
    plan.reason = "it has no constant weight";
    if (state.options.dynamic && plan.required && find_support(node) == nullptr)
      return refusal(node, "it has no INT8 form, and the options demand int8; allow float with \"int8?\" or \"fp32\"");
    return plan;
  }
  plan.form = Form::weights;
  plan.weight = fitted.weight;
  plan.axis = fitted.axis;
  if (state.options.dynamic) {
    plan.dynamic = *plan.weight == 0 ? 1 : 0;
    return plan;
  }
  const auto& shape = state.model.graph.initializer(node.input(*plan.weight))->shape();
  const bool matrix = shape.size() == 2 && (node.op_type == "MatMul" || node.op_type == "Gemm");
  if (state.options.block == 0 || !matrix) return plan;
  plan.axis = *plan.weight == 0 || node.int_or("transB", 0) != 0 ? 1 : 0;  // along what is summed
  plan.block = state.options.block;
  return plan;
}

/// A Clip that keeps a Log, a Reciprocal or a divisor away from zero: the code of its least value would stand for zero.
bool guards_from_zero(const State& state, const Wiring& wiring, const Node& node) {
  if (!is_op(node, "Clip")) return false;
  const Tensor* least = state.model.graph.initializer(node.input(1));
  if (least == nullptr || least->size() != 1 || !(least->as_real(0) > 0)) return false;
  return std::ranges::any_of(wiring.consumers(node.outputs.front()), [&](std::size_t index) {
    const Node& reader = state.model.graph.nodes[index];
    return is_op(reader, "Log") || is_op(reader, "Reciprocal") ||
           (is_op(reader, "Div") && reader.input(1) == node.outputs.front());
  });
}

Result<NodePlan> plan_node(const State& state, const Wiring& wiring, const Node& node, bool in_layer_normalization) {
  NodePlan plan;
  if (!computes_real_data(state, node)) return plan;
  const auto wanted = wanted_precision(state, node);
  plan.form = Form::fp32;
  plan.required = wanted == "int8";
  if (wanted == "fp32") {
    plan.chosen = true;
    plan.reason = "the options ask for fp32";
    return plan;
  }
  if (state.imported && !plan.required) {
    plan.reason = "the model's own Q/DQ nodes decide";
    return plan;
  }
  if (in_layer_normalization && !plan.required) {
    plan.reason = "the steps of a layer normalization need more than 8 bits";
    return plan;
  }
  if (guards_from_zero(state, wiring, node) && !plan.required) {
    plan.reason = "its least value, which keeps what follows from zero, needs more than 8 bits";
    return plan;
  }
  if (!state.options.calibrates()) return plan_weight(state, node, plan);
  NodePlan fitted = plan;
  fitted.form = Form::int8;
  fitted.reason = fit_node(state, node, fitted);
  if (fitted.reason.empty()) return fitted;
  if (plan.required) {
    return refusal(node, fitted.reason + ", and the options demand int8; allow float with \"int8?\" or \"fp32\"");
  }
  plan.reason = fitted.reason;
  return plan;
}

/// Nodes of subgraphs run in float.
Status refuse_demands_inside(const State& state, const Node& node) {
  if (!computes_real_data(state, node)) return core::success();
  for (const auto& [name, value] : node.attributes) {
    const auto* subgraph = std::get_if<model::GraphPtr>(&value);
    if (subgraph == nullptr || *subgraph == nullptr) continue;
    for (const auto& inner : (*subgraph)->nodes) {
      if (wanted_precision(state, inner) == "int8") {
        return refusal(inner,
                       "nodes of subgraphs have no INT8 form, and the options demand int8; allow float with "
                       "\"int8?\" or \"fp32\"");
      }
      if (auto done = refuse_demands_inside(state, inner); !done) return done;
    }
  }
  return core::success();
}

/// Relu or Clip behind a node with products or sums: the pair is one step, and the tensor between them needs no
/// parameters. Only where nobody else reads that tensor.
void join_activations(State& state, const Wiring& wiring) {
  auto& graph = state.model.graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto& plan = state.plan.nodes[i];
    const auto* support = find_support(graph.nodes[i]);
    if (plan.form != Form::int8 || support == nullptr || !support->takes_activation) continue;
    const auto reader = only_reader(graph, wiring, graph.nodes[i].outputs.front());
    if (!reader) continue;
    const auto& op = graph.nodes[*reader].op_type;
    auto& next = state.plan.nodes[*reader];
    if (op != "Relu" && op != "Clip") continue;
    // A sum on codes may end in float, where a Clip that stays there takes it as it is.
    const bool ends_in_float =
        support->handling == Handling::multiplies && guards_from_zero(state, wiring, graph.nodes[*reader]);
    if (next.form != Form::int8 && !ends_in_float) continue;
    plan.feeds_activation = true;
    next.operands.clear();
  }
}

bool made_by(const State& state, const Wiring& wiring, std::string_view tensor, std::string_view op) {
  const auto producer = wiring.producer(tensor);
  return producer && state.model.graph.nodes[*producer].op_type == op;
}

bool goes_into_quantize(const State& state, const Wiring& wiring, std::string_view tensor) {
  const auto& readers = wiring.consumers(tensor);
  return !readers.empty() && !wiring.is_output(tensor) && std::ranges::all_of(readers, [&](std::size_t reader) {
    return state.model.graph.nodes[reader].op_type == "QuantizeLinear";
  });
}

}  // namespace

void mark_tensors(State& state) {
  auto& plan = state.plan;
  const Wiring wiring(state.model.graph);
  plan.quantized.clear();
  plan.shares.clear();
  plan.covers.clear();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = state.model.graph.nodes[i];
    const auto& node_plan = plan.nodes[i];
    if (node_plan.form != Form::int8) continue;
    const auto* support = find_support(node);
    for (const auto operand : node_plan.operands) {
      if (!made_by(state, wiring, node.inputs[operand], "DequantizeLinear"))
        plan.quantized.insert(node.inputs[operand]);
    }
    if (node_plan.feeds_activation) continue;
    for (const auto& output : node.outputs) {
      if (output.empty() || goes_into_quantize(state, wiring, output)) continue;
      plan.quantized.insert(output);
      const auto& first = node.inputs[0];
      if (handling_of(state, node, *support) == Handling::moves && plan.quantized.contains(first)) {
        plan.shares[output] = first;
      }
      if (node.op_type == "Concat") plan.covers[output] = node.inputs;
    }
  }
}

namespace {

/// The model's own Q/DQ nodes stand around `node`: it is int8 as it is, only a float bias is still to be encoded.
void recognize_authored(State& state, const Wiring& wiring) {
  const auto& graph = state.model.graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    auto& plan = state.plan.nodes[i];
    if (plan.form != Form::fp32 || find_support(node) == nullptr || node.outputs.size() != 1) continue;
    if (asked_in_float(state, node)) continue;
    const bool weighted = node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm";
    if (!weighted || !made_by(state, wiring, node.input(0), "DequantizeLinear") ||
        !made_by(state, wiring, node.input(1), "DequantizeLinear")) {
      continue;
    }
    auto end = node.outputs.front();
    if (const auto reader = only_reader(graph, wiring, end); reader && !goes_into_quantize(state, wiring, end)) {
      const auto& next = graph.nodes[*reader];
      if (next.op_type == "Relu" || next.op_type == "Clip") end = next.outputs.front();
    }
    if (!goes_into_quantize(state, wiring, end)) continue;
    plan.authored = true;
    if (const auto* bias = graph.initializer(node.input(2)); bias != nullptr && bias->is_real()) plan.bias = 2;
  }
}

}  // namespace

Status make_plan(State& state) {
  const auto& graph = state.model.graph;
  state.plan = {};
  const auto normalizations = layer_normalization_nodes(graph);
  const Wiring wiring(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto plan = plan_node(state, wiring, graph.nodes[i], normalizations.contains(i));
    if (!plan) return plan.error();
    if (auto done = refuse_demands_inside(state, graph.nodes[i]); !done) return done.error();
    state.plan.nodes.push_back(std::move(*plan));
  }
  join_activations(state, wiring);
  if (state.imported) recognize_authored(state, wiring);
  mark_tensors(state);
  return core::success();
}

}  // namespace assay::embedded
