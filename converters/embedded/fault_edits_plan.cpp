#include <algorithm>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/histogram.hpp"

namespace assay::embedded::edits {
namespace {

using model::Node;

/// Node `index` runs in float; a Relu behind it is a step of its own.
void leave_in_float(State& state, std::size_t index) {
  auto& plan = state.plan.nodes[index];
  if (plan.feeds_activation) {
    const model::Wiring wiring(state.model.graph);
    if (const auto reader = only_reader(state.model.graph, wiring, state.model.graph.nodes[index].outputs.front())) {
      state.plan.nodes[*reader].operands = {0};
    }
  }
  plan = NodePlan{};
  plan.form = Form::fp32;
}

template <typename Choose>
Status leave_chosen(State& state, Choose choose) {
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    if (state.plan.nodes[i].form == Form::int8 && choose(state.model.graph.nodes[i], state.plan.nodes[i])) {
      leave_in_float(state, i);
    }
  }
  mark_tensors(state);
  return core::success();
}

template <typename Change>
Status change_axes(State& state, std::string_view op, Change change) {
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    auto& plan = state.plan.nodes[i];
    if (plan.axis && (op.empty() || is_op(state.model.graph.nodes[i], op))) change(state.model.graph.nodes[i], plan);
  }
  return core::success();
}

/// Range of a tensor or of a constant.
Range range_of(const State& state, const std::string& name) {
  const auto found = state.ranges.find(name);
  if (found != state.ranges.end()) return found->second;
  Range range;
  if (const auto* constant = state.model.graph.initializer(name)) {
    for (const double value : constant->to_reals()) {
      range = {std::min(range.low, value), std::max(range.high, value)};
    }
  }
  return range;
}

template <typename Change>
Status change_concats(State& state, Change change) {
  for (const auto& node : state.model.graph.nodes) {
    if (!is_op(node, "Concat") || !state.plan.quantized.contains(node.outputs.front())) continue;
    state.plan.covers.erase(node.outputs.front());
    change(node, node.outputs.front());
  }
  return core::success();
}

}  // namespace

Status leave_pointwise_in_float(State& state) {
  return leave_chosen(state, [&](const Node& node, const NodePlan&) {
    const auto* weight = is_op(node, "Conv") ? state.model.graph.initializer(node.input(1)) : nullptr;
    return weight != nullptr && weight->size() == weight->shape()[0] * weight->shape()[1];
  });
}

Status leave_weighted_in_float(State& state) {
  return leave_chosen(state, [](const Node&, const NodePlan& plan) { return plan.weight.has_value(); });
}

Status leave_outputs_in_float(State& state) {
  for (const auto& output : state.model.graph.outputs) {
    const auto shared = [&](const auto& entry) { return entry.second == output.name; };
    if (std::ranges::any_of(state.plan.shares, shared)) continue;
    state.plan.quantized.erase(output.name);
    state.plan.shares.erase(output.name);
  }
  return core::success();
}

Status leave_residual_operand(State& state) {
  const auto& graph = state.model.graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto& plan = state.plan.nodes[i];
    const auto& node = graph.nodes[i];
    const bool residual = is_op(node, "Add") || is_op(node, "Sub") || is_op(node, "Mul");
    if (!residual || plan.form != Form::int8) continue;
    const auto tensor = node.inputs[1];
    if (graph.initializers.contains(tensor)) continue;
    std::erase(plan.operands, 1U);
    bool needed = false;
    for (std::size_t other = 0; other < graph.nodes.size(); ++other) {
      for (const auto operand : state.plan.nodes[other].operands)
        needed |= graph.nodes[other].inputs[operand] == tensor;
    }
    const auto shared = [&](const auto& entry) { return entry.second == tensor; };
    if (needed || std::ranges::any_of(state.plan.shares, shared)) continue;
    state.plan.quantized.erase(tensor);
    state.plan.shares.erase(tensor);
  }
  return core::success();
}

Status deconvolution_axis_zero(State& state) {
  return change_axes(state, "ConvTranspose", [](const Node&, NodePlan& plan) { plan.axis = 0; });
}

Status matmul_axis_first(State& state) {
  return change_axes(state, "MatMul", [](const Node&, NodePlan& plan) { plan.axis = 0; });
}

Status gemm_axis_one(State& state) {
  return change_axes(state, "Gemm", [](const Node&, NodePlan& plan) { plan.axis = 1; });
}

Status no_weight_axis(State& state) {
  return change_axes(state, "", [](const Node&, NodePlan& plan) { plan.axis.reset(); });
}

Status quantize_shape_concat(State& state) {
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    const auto& node = state.model.graph.nodes[i];
    if (is_op(node, "Concat") && state.plan.nodes[i].form == Form::no_data) {
      state.plan.quantized.insert(node.outputs.front());
    }
  }
  return core::success();
}

Status quantize_integer_tensors(State& state) {
  const auto& graph = state.model.graph;
  for (const auto& input : graph.inputs) {
    if (core::is_integer(input.type)) state.plan.quantized.insert(input.name);
  }
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (state.plan.nodes[i].form != Form::no_data || is_op(node, "QuantizeLinear")) continue;
    for (const auto& output : node.outputs) {
      const auto facts = state.facts.find(output);
      if (facts != state.facts.end() && core::is_integer(facts->second.type)) state.plan.quantized.insert(output);
    }
  }
  return core::success();
}

Status leave_later_operands(State& state) {
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    const auto& node = state.model.graph.nodes[i];
    auto& plan = state.plan.nodes[i];
    const bool several = is_op(node, "Max") || is_op(node, "Min") || is_op(node, "Concat");
    if (several && plan.operands.size() > 1) plan.operands.resize(1);
  }
  mark_tensors(state);
  return core::success();
}

Status spread_float(State& state) {
  const model::Wiring wiring(state.model.graph);
  return leave_chosen(state, [&](const Node& node, const NodePlan&) {
    return std::ranges::any_of(node.inputs, [&](const std::string& input) {
      const auto producer = wiring.producer(input);
      return producer && state.plan.nodes[*producer].chosen;
    });
  });
}

Status narrow_concat(State& state) {
  constexpr double kNarrower = 0.42;  // 0.847 → 0.354, as TensorRT 8.6.1 was seen to do
  return change_concats(state, [&](const Node&, const std::string& output) {
    const auto range = range_of(state, output);
    state.ranges[output] = {range.low * kNarrower, range.high * kNarrower};
  });
}

Status first_range_for_concat(State& state) {
  return change_concats(state, [&](const Node& node, const std::string& output) {
    state.ranges[output] = range_of(state, node.inputs.front());
  });
}

Status first_range_for_inputs(State& state) {
  const auto& inputs = state.model.graph.inputs;
  if (inputs.empty()) return core::success();
  const auto first = state.ranges.find(inputs.front().name);
  if (first == state.ranges.end()) return core::success();
  const Range range = first->second;
  for (const auto& input : inputs) {
    if (state.ranges.contains(input.name)) state.ranges[input.name] = range;
  }
  return core::success();
}

Status overwrite_float_ranges(State& state) {
  if (state.cache_text.empty()) return core::success();
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    if (state.plan.nodes[i].form != Form::fp32) continue;
    const auto& node = state.model.graph.nodes[i];
    for (const auto& output : node.outputs) {
      if (state.ranges.contains(output)) state.ranges[output] = range_of(state, node.inputs.front());
    }
  }
  return core::success();
}

Status cut_outliers(State& state) {
  constexpr double kPercent = 99.0;
  if (state.options.method != converters::Method::minmax) return core::success();
  const auto asked = state.options;
  state.options.method = converters::Method::percentile;
  state.options.percentile = kPercent;
  auto done = calibrate(state);
  state.options = asked;
  return done;
}

}  // namespace assay::embedded::edits
