#include "converters/embedded/support.hpp"

#include <algorithm>
#include <array>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded {
namespace {

using enum Handling;

// A row: the operator's name; how it treats quantized values (support.hpp); how many of its first inputs are data, 0
// for all, since the others (a shape, a repeat count) stay as they are; whether a Relu or Clip behind it becomes part
// of it. Sorted by name, see docs/architecture.md for what else a new operator needs.
constexpr auto kTable = std::to_array<Support>({
    {"Abs", computes, 1, false},
    {"Add", computes, 2, true},
    {"AveragePool", computes, 1, false},
    {"BatchNormalization", computes, 1, false},
    {"Celu", computes, 1, false},
    {"Clip", computes, 1, false},
    {"Concat", computes, 0, false},
    {"Conv", multiplies, 1, true},
    {"ConvTranspose", multiplies, 1, true},
    {"DepthToSpace", moves, 1, false},
    {"Div", computes, 2, false},
    {"Elu", computes, 1, false},
    {"Erf", computes, 1, false},
    {"Expand", moves, 1, false},
    {"Flatten", moves, 1, false},
    {"Gather", moves, 1, false},
    {"GatherElements", moves, 1, false},
    {"Gelu", computes, 1, false},
    {"Gemm", multiplies, 1, true},
    {"GlobalAveragePool", computes, 1, false},
    {"GlobalMaxPool", moves, 1, false},
    {"HardSigmoid", computes, 1, false},
    {"HardSwish", computes, 1, false},
    {"Identity", moves, 1, false},
    {"LeakyRelu", computes, 1, false},
    {"MatMul", multiplies, 2, true},
    {"Max", computes, 0, false},
    {"MaxPool", moves, 1, false},
    {"Min", computes, 0, false},
    {"Mish", computes, 1, false},
    {"Mul", computes, 2, true},
    {"Neg", computes, 1, false},
    {"PRelu", computes, 1, false},
    {"Pad", moves, 1, false},
    {"ReduceMax", moves, 1, false},
    {"ReduceMean", computes, 1, false},
    {"ReduceMin", moves, 1, false},
    {"ReduceSum", computes, 1, false},
    {"Relu", computes, 1, false},
    {"Reshape", moves, 1, false},
    {"Resize", moves, 1, false},
    {"Selu", computes, 1, false},
    {"Sigmoid", computes, 1, false},
    {"Slice", moves, 1, false},
    {"Softmax", computes, 1, false},
    {"Softplus", computes, 1, false},
    {"Softsign", computes, 1, false},
    {"SpaceToDepth", moves, 1, false},
    {"Split", moves, 1, false},
    {"Squeeze", moves, 1, false},
    {"Sub", computes, 2, true},
    {"Tanh", computes, 1, false},
    {"ThresholdedRelu", computes, 1, false},
    {"Tile", moves, 1, false},
    {"Transpose", moves, 1, false},
    {"Unsqueeze", moves, 1, false},
    {"com.microsoft.Gelu", computes, 1, false},
    {"com.microsoft.QuickGelu", computes, 1, false},
});
static_assert(std::ranges::is_sorted(kTable, {}, &Support::op), "find_support() searches by halves");

const Support* find_support(std::string_view op) {
  const auto* found = std::ranges::lower_bound(kTable, op, {}, &Support::op);
  return found != kTable.end() && found->op == op ? found : nullptr;
}

bool is_float(const State& state, std::string_view tensor) {
  if (const auto* constant = state.model.graph.initializer(tensor)) return constant->type() == DType::float32;
  const auto facts = state.facts.find(std::string(tensor));
  return facts != state.facts.end() && facts->second.type == DType::float32;
}

const Tensor* constant(const State& state, std::string_view tensor) { return state.model.graph.initializer(tensor); }

/// A weight that the model itself holds as codes stays as it is: only its scales have to lie along the output channels.
std::string fit_coded_weight(const State& state, const model::Node& node, NodePlan& plan) {
  const auto& graph = state.model.graph;
  const auto made = std::ranges::find_if(graph.nodes, [&](const model::Node& before) {
    return before.op_type == "DequantizeLinear" && before.outputs[0] == node.input(1);
  });
  const auto* codes = made == graph.nodes.end() ? nullptr : constant(state, made->input(0));
  if (codes == nullptr) return "its weight is not constant";
  const auto params = declared_params(graph, *made);
  const auto layout = weight_layout(node, codes->shape());
  if (!params || !layout) return "its weight's scales are not constant";
  if (params->axis && *params->axis != layout->axis) return "its weight's scales do not lie along the output channels";
  plan.operands = {0};
  plan.authored = true;
  const auto* bias = constant(state, node.input(2));
  if (bias != nullptr && is_channel_bias(*bias, layout->channels)) plan.bias = 2;
  return "";
}

std::string fit_weight(const State& state, const model::Node& node, std::size_t index, NodePlan& plan) {
  const auto* weight = constant(state, node.input(index));
  if (weight == nullptr) return fit_coded_weight(state, node, plan);
  if (weight->type() != DType::float32) return "its weight is not float32";
  const auto layout = weight_layout(node, weight->shape());
  if (!layout) return "its weight's shape does not fit";
  plan.weight = index;
  if (state.options.per_axis) plan.axis = layout->axis;
  plan.operands = {0};
  if (node.input(2).empty()) return "";
  const auto* bias = constant(state, node.input(2));
  if (bias == nullptr) return "its bias is not constant";
  if (!is_channel_bias(*bias, layout->channels)) return "its bias is not one value per output channel";
  plan.bias = 2;
  return "";
}

std::string fit_gemm(const State& state, const model::Node& node, NodePlan& plan) {
  // fold_gemm_factors leaves 1 wherever the operand is constant.
  if (node.float_or("beta", 1) != 1) return "beta with a C that is not constant has no INT8 form";
  auto reason = fit_weight(state, node, 1, plan);
  if (reason.empty() || constant(state, node.input(1)) != nullptr) return reason;
  if (!node.input(2).empty()) return "a bias without a constant B has no INT8 form";
  plan.operands = {0, 1};
  return "";
}

/// A constant operand is a weight: B with scales along its last axis, A along the last but one. A batch of weights has
/// one scale.
std::string fit_matmul(const State& state, const model::Node& node, NodePlan& plan) {
  plan.operands = {0, 1};
  for (const std::size_t side : {1U, 0U}) {
    const auto* weight = constant(state, node.input(side));
    if (weight == nullptr) continue;
    plan.weight = side;
    plan.operands = {1 - side};
    if (state.options.per_axis && weight->rank() == 2) plan.axis = side == 1 ? 1 : 0;
    break;
  }
  return "";
}

std::string fit_parameters(const State& state, const model::Node& node) {
  const auto is_constant = [&](std::size_t index) {
    return node.input(index).empty() || constant(state, node.input(index)) != nullptr;
  };
  if (node.op_type == "Div" && constant(state, node.input(1)) == nullptr)
    return "a division by an activation has no INT8 form";
  if (node.op_type == "BatchNormalization") {
    for (std::size_t i = 1; i < 5; ++i) {
      if (!is_constant(i)) return "its parameters are not constant";
    }
  }
  if (node.op_type == "Clip" && !(is_constant(1) && is_constant(2))) return "its bounds are not constant";
  if (node.op_type == "PRelu" && !is_constant(1)) return "its slope is not constant";
  if (node.op_type == "Pad" && !is_constant(2)) return "its pad value is not constant";
  if (node.op_type == "Resize" && node.string_or("mode", "nearest") == "cubic") return "mode cubic has no INT8 form";
  return "";
}

}  // namespace

std::span<const Support> support_table() { return kTable; }

const Support* find_support(const model::Node& node) { return find_support(model::operator_name(node)); }

std::string_view int8_form(std::string_view op) {
  const auto* found = find_support(op);
  if (found == nullptr) return "";
  switch (found->handling) {
    case Handling::multiplies:
      return "multiplies";
    case Handling::computes:
      return "computes";
    case Handling::moves:
      return "moves";
  }
  return "";
}

Handling handling_of(const State& state, const model::Node& node, const Support& support) {
  if (node.op_type == "Resize" && node.string_or("mode", "nearest") != "nearest") return computes;
  // Resize's tf_crop_and_resize and Pad fill in a value that the input's range may not hold.
  if (node.op_type == "Resize" &&
      node.string_or("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
    return computes;
  }
  if (node.op_type == "Pad" && node.string_or("mode", "constant") == "constant") {
    const auto* value = constant(state, node.input(2));
    if (value != nullptr && value->as_real(0) != 0) return computes;
  }
  return support.handling;
}

std::string fit_node(const State& state, const model::Node& node, NodePlan& plan) {
  const auto* support = find_support(node);
  if (support == nullptr) return "no INT8 form";
  if (auto reason = fit_parameters(state, node); !reason.empty()) return reason;
  if (node.op_type == "MatMul") {
    if (auto reason = fit_matmul(state, node, plan); !reason.empty()) return reason;
  } else if (node.op_type == "Gemm") {
    if (auto reason = fit_gemm(state, node, plan); !reason.empty()) return reason;
  } else if (support->handling == multiplies) {
    if (auto reason = fit_weight(state, node, 1, plan); !reason.empty()) return reason;
  } else {
    const auto count = support->operands == 0 ? node.inputs.size() : std::min(support->operands, node.inputs.size());
    for (std::size_t i = 0; i < count; ++i) plan.operands.push_back(i);
  }
  for (const auto index : plan.operands) {
    if (!is_float(state, node.input(index)))
      return "its operand \"" + std::string(node.input(index)) + "\" is not float32";
  }
  if (core::is_real(state.options.activation)) plan.bias.reset();  // products of float8 are summed in float
  return "";
}

}  // namespace assay::embedded
