// Parameters after the assign pass, and codes that belong to other parameters than those declared.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {
namespace {

using model::Node;

/// Every scale of activations and weights.
Status change_scales(State& state, const std::function<double(double)>& change) {
  for (auto& [name, params] : state.params) {
    for (auto& scale : params.scale) scale = to_float32(change(scale));
  }
  for (auto& codes : state.codes) {
    if (!codes.weight) continue;
    for (auto& scale : codes.weight->params.scale) scale = to_float32(change(scale));
  }
  assign_bias_scales(state);
  return core::success();
}

/// The scales of every weight: `change(node, weight, scales)`.
Status change_weight_scales(State& state,
                            const std::function<void(const Node&, const Tensor&, std::vector<double>&)>& change) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    auto& weight = state.codes[i].weight;
    if (weight) change(state.model.graph.nodes[i], weight_of(state, i), weight->params.scale);
  }
  assign_bias_scales(state);
  return core::success();
}

QuantParams params_of_range(const State& state, const Range& range) {
  return activation_params(range, state.options.activation, state.options.symmetric);
}

/// The results of these operators get the parameters of what they read.
Status keep_input_scale(State& state, std::initializer_list<std::string_view> ops) {
  for (const auto& node : state.model.graph.nodes) {
    const bool meant = std::ranges::any_of(ops, [&](std::string_view op) { return is_op(node, op); });
    const auto input = meant ? state.params.find(node.inputs.front()) : state.params.end();
    const auto output = meant ? state.params.find(node.outputs.front()) : state.params.end();
    if (input != state.params.end() && output != state.params.end()) output->second = input->second;
  }
  assign_bias_scales(state);
  return core::success();
}

/// Writes the codes of every bias anew, with `scale(node, channel)` for a step.
void recode_biases(State& state, const std::function<double(std::size_t, std::size_t)>& scale) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    if (!state.codes[i].bias || !state.codes[i].weight) continue;
    const auto& node = state.model.graph.nodes[i];
    const auto values = state.model.graph.initializer(node.input(*state.plan.nodes[i].bias))->to_reals();
    auto codes = state.codes[i].bias->codes.integers();
    for (std::size_t c = 0; c < codes.size(); ++c) {
      codes[c] = code_of(values[values.size() == 1 ? 0 : c], scale(i, c), 0, DType::int32);
    }
  }
}

}  // namespace

Status leave_zero_out(State& state) {
  if (state.options.symmetric) return core::success();
  const auto limits = core::integer_limits(state.options.activation);
  const auto low_code = static_cast<double>(limits.low), high_code = static_cast<double>(limits.high);
  for (auto& [name, params] : state.params) {
    const auto found = state.ranges.find(name);
    if (found == state.ranges.end()) continue;
    const Range range = found->second;
    if ((range.low <= 0 && range.high >= 0) || range.low >= range.high) continue;
    params.scale = {to_float32((range.high - range.low) / (high_code - low_code))};
    const double zero = std::clamp(std::nearbyint(low_code - range.low / params.scale[0]), low_code, high_code);
    params.zero_point = {static_cast<std::int64_t>(zero)};
  }
  assign_bias_scales(state);
  return core::success();
}

Status scales_to_powers_of_two(State& state) {
  return change_scales(state, [](double scale) { return std::exp2(std::ceil(std::log2(scale))); });
}

Status scales_to_float16(State& state) {
  constexpr double kLeast = 6.2e-5;  // below, float16 is denormal and exporters keep float32
  return change_scales(
      state, [](double scale) { return scale < kLeast ? scale : core::round_to_type(scale, DType::float16); });
}

Status scales_to_six_digits(State& state) {
  return change_scales(state, [](double scale) { return std::strtod(fmt::format("{:.5e}", scale).c_str(), nullptr); });
}

Status weights_to_seven_bits(State& state) {
  return change_weight_scales(state, [](const Node&, const Tensor&, std::vector<double>& scales) {
    for (auto& scale : scales) scale *= 2;
  });
}

Status one_scale_per_group(State& state) {
  return change_weight_scales(state, [](const Node& node, const Tensor&, std::vector<double>& scales) {
    const auto groups = static_cast<std::size_t>(std::max<std::int64_t>(node.int_or("group", 1), 1));
    if (!is_op(node, "Conv") || groups == 1 || scales.size() <= groups) return;
    const std::size_t length = scales.size() / groups;
    for (std::size_t begin = 0; begin < scales.size(); begin += length) {
      const auto group = std::span(scales).subspan(begin, length);
      std::ranges::fill(group, std::ranges::max(group));
    }
  });
}

Status first_group_decides(State& state) {
  constexpr double kDivisor = 127;
  return change_weight_scales(state, [](const Node& node, const Tensor& weight, std::vector<double>& scales) {
    const auto groups = node.int_or("group", 1);
    if (!is_op(node, "ConvTranspose") || groups < 2 || scales.size() < 2) return;
    const auto layout = weight_layout(node, weight.shape());
    if (!layout) return;
    std::vector<double> largest(scales.size(), 0.0);
    const auto values = weight.reals().subspan(0, weight.reals().size() / static_cast<std::size_t>(groups));
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto& entry = largest[layout->scale_of(i)];
      entry = std::max(entry, std::fabs(values[i]));
    }
    for (std::size_t j = 0; j < scales.size(); ++j) {
      if (largest[j] > 0) scales[j] = to_float32(largest[j] / kDivisor);
    }
  });
}

Status means_keep_scale(State& state) {
  return keep_input_scale(state, {"AveragePool", "GlobalAveragePool", "ReduceMean"});
}

Status sigmoids_keep_scale(State& state) { return keep_input_scale(state, {"Sigmoid"}); }

Status branches_take_concat_scale(State& state) {
  for (const auto& node : state.model.graph.nodes) {
    const auto joint = is_op(node, "Concat") ? state.params.find(node.outputs.front()) : state.params.end();
    if (joint == state.params.end()) continue;
    for (const auto& input : node.inputs) {
      const auto own = state.params.find(input);
      if (state.model.graph.initializer(input) == nullptr && own != state.params.end()) own->second = joint->second;
    }
  }
  assign_bias_scales(state);
  return core::success();
}

Status share_backwards(State& state) {
  for (const auto& [name, first] : state.plan.shares) {
    const auto range = state.ranges.find(name);
    if (range == state.ranges.end()) continue;
    state.params[name] = state.params[first] = params_of_range(state, range->second);
  }
  assign_bias_scales(state);
  return core::success();
}

Status recalibrate_pools(State& state) {
  for (const auto& node : state.model.graph.nodes) {
    if (!is_op(node, "MaxPool")) continue;
    const auto range = state.ranges.find(node.outputs.front());
    const auto params = state.params.find(node.outputs.front());
    if (range != state.ranges.end() && params != state.params.end()) {
      params->second = params_of_range(state, range->second);
    }
  }
  assign_bias_scales(state);
  return core::success();
}

Status constants_take_concat_scale(State& state) {
  const auto& graph = state.model.graph;
  for (const auto& node : graph.nodes) {
    const auto joint = is_op(node, "Concat") ? state.params.find(node.outputs.front()) : state.params.end();
    if (joint == state.params.end()) continue;
    for (const auto& input : node.inputs) {
      const auto own = state.params.find(input);
      if (graph.initializer(input) != nullptr && own != state.params.end()) own->second = joint->second;
    }
  }
  return core::success();
}

Status scale_one_by_default(State& state) {
  constexpr std::array kElementwise{"Add", "Sub", "Mul", "Div"};
  const auto& graph = state.model.graph;
  for (const auto& node : graph.nodes) {
    const bool elementwise = std::ranges::any_of(kElementwise, [&](std::string_view op) { return is_op(node, op); });
    const bool constant = std::ranges::any_of(node.inputs, [&](const auto& input) { return graph.initializer(input); });
    const auto params = elementwise && constant ? state.params.find(node.outputs.front()) : state.params.end();
    if (params == state.params.end()) continue;
    params->second.scale = {1};
    params->second.zero_point = activation_params({-1, 1}, params->second.type, true).zero_point;
  }
  assign_bias_scales(state);
  return core::success();
}

Status drop_passing_input_scale(State& state) {
  const model::Wiring wiring(state.model.graph);
  for (const auto& input : state.model.graph.inputs) {
    const auto& readers = wiring.consumers(input.name);
    const bool passes = std::ranges::all_of(readers, [&](std::size_t reader) {
      const auto& outputs = state.model.graph.nodes[reader].outputs;
      return std::ranges::all_of(outputs, [&](const auto& output) { return state.plan.shares.contains(output); });
    });
    if (passes && !readers.empty()) state.params.erase(input.name);
  }
  return core::success();
}

Status bias_of_first_channel(State& state) {
  recode_biases(state, [&](std::size_t node, std::size_t) { return state.codes[node].bias->params.scale.front(); });
  return core::success();
}

Status bias_before_sharing(State& state) {
  recode_biases(state, [&](std::size_t index, std::size_t channel) {
    const auto& bias = state.codes[index].bias->params;
    const double declared = bias.scale[bias.scale.size() == 1 ? 0 : channel];
    const std::string input(state.model.graph.nodes[index].input(0));
    const auto range = state.ranges.find(input);
    const auto params = state.params.find(input);
    if (range == state.ranges.end() || params == state.params.end()) return declared;
    return declared * params_of_range(state, range->second).scale[0] / params->second.scale[0];
  });
  return core::success();
}

}  // namespace assay::embedded::edits
