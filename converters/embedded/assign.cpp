#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded {
namespace {

constexpr double kLeastNormal = std::numeric_limits<float>::min();
/// A few of float32's denormal steps (1.4e-45).
constexpr double kLeastBiasScale = 1e-44;
constexpr double kAccumulatorLimit = 2147483647.0;
/// Steps that the bias of an all-zero channel spans: as fine as float32 itself.
constexpr double kZeroChannelSteps = 16777216.0;

/// Follows `shares` to the tensor that has parameters of its own.
std::string owner_of(const Plan& plan, std::string name) {
  for (auto shared = plan.shares.find(name); shared != plan.shares.end(); shared = plan.shares.find(name)) {
    name = shared->second;
  }
  return name;
}

Range constant_range(const Tensor& constant) {
  Range range;
  for (const double value : constant.reals()) {
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

Range range_of(const State& state, const std::string& name) {
  if (const auto* constant = state.model.graph.initializer(name)) return constant_range(*constant);
  const auto found = state.ranges.find(name);
  return found == state.ranges.end() ? Range{} : found->second;
}

/// Range of `name` with those of the tensors that it covers, and what they cover.
Range covering_range(const State& state, const std::string& name) {
  Range range = range_of(state, name);
  const auto covers = state.plan.covers.find(name);
  if (covers == state.plan.covers.end()) return range;
  for (const auto& part : covers->second) {
    const Range other = covering_range(state, owner_of(state.plan, part));
    range = {std::min(range.low, other.low), std::max(range.high, other.high)};
  }
  return range;
}

void assign_activations(State& state) {
  const auto& plan = state.plan;
  for (const auto& name : plan.quantized) {
    if (plan.shares.contains(name)) continue;
    state.params[name] =
        activation_params(covering_range(state, name), state.options.activation, state.options.symmetric);
  }
  for (const auto& [name, first] : plan.shares) state.params[name] = state.params[owner_of(plan, first)];
}

/// What a weight's channels need: largest magnitude, sum of magnitudes and largest bias per scale.
struct ChannelNeeds {
  std::vector<double> largest, sum, bias;
  std::size_t products = 0;  ///< per output element
};

ChannelNeeds needs_of(const Tensor& weight, const WeightLayout& layout, bool per_axis,
                      const std::vector<double>& bias) {
  const std::size_t count = per_axis ? layout.scales : 1;
  std::vector<double> channel_sum(layout.channels, 0.0);
  ChannelNeeds needs{std::vector<double>(count, 0.0), std::vector<double>(count, 0.0), std::vector<double>(count, 0.0),
                     static_cast<std::size_t>(weight.size()) / layout.channels};
  const auto values = weight.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t scale = per_axis ? layout.scale_of(i) : 0;
    needs.largest[scale] = std::max(needs.largest[scale], std::fabs(values[i]));
    channel_sum[layout.channel(i)] += std::fabs(values[i]);
  }
  for (std::size_t channel = 0; channel < layout.channels; ++channel) {
    const std::size_t scale = per_axis ? layout.scale_of_channel(channel) : 0;
    needs.sum[scale] = std::max(needs.sum[scale], channel_sum[channel]);
    if (!bias.empty()) needs.bias[scale] = std::max(needs.bias[scale], std::fabs(bias[channel]));
  }
  return needs;
}

/// What the scale of a weight follows from beside the weight itself.
struct Multiplied {
  double scale = 1;          ///< of the activation that it is multiplied with
  double code_distance = 0;  ///< the largest distance of that one's codes from its zero point
  double divisor = 127;      ///< the last code of the weight's type
};

/// s = largest / divisor, raised where the bias would not fit its 32 bits or the accumulator could leave them.
/// With m the largest distance of an activation code from its zero_point and K products,
///   sum |q_w| m + |q_b| <= m (sum |w| / s + K / 2) + |b| / (s_x s) + 1 / 2 <= 2^31 - 1
/// holds for s >= (m sum |w| + |b| / s_x) / (2^31 - 1 - (m K + 1) / 2).
/// Sums of wider codes are no 32-bit integers: m is 0 for them.
double weight_scale(double largest, double sum, double bias, std::size_t products, const Multiplied& x) {
  const double s_x = x.scale, code_distance = x.code_distance;
  double scale = largest / x.divisor;
  if (scale < kLeastNormal) scale = bias > 0 ? bias / s_x / kZeroChannelSteps : 1;
  const double room = kAccumulatorLimit - (code_distance * static_cast<double>(products) + 1) / 2;
  double least = kLeastNormal;
  if (room > 0) least = std::max(least, (code_distance * sum + bias / s_x) / room);
  // The bias's scale s_x * s may be denormal, but it must not vanish.
  if (bias > 0) least = std::max(least, kLeastBiasScale / s_x);
  if (least <= scale) return to_float32(scale);
  // A step up, since rounded down the bias could miss its limit by one.
  const auto raised = std::nextafter(static_cast<float>(least), std::numeric_limits<float>::max());
  return static_cast<double>(raised);
}

std::vector<double> bias_values(const State& state, const model::Node& node, const NodePlan& plan,
                                std::size_t channels) {
  if (!plan.bias) return {};
  auto values = state.model.graph.initializer(node.input(*plan.bias))->to_reals();
  values.resize(channels, values.front());
  return values;
}

QuantParams weight_params(const State& state, const model::Node& node, const NodePlan& plan, const Tensor& weight,
                          const QuantParams& input) {
  const auto layout = weight_layout(node, weight.shape());
  QuantParams params;
  params.type = state.options.weight;
  params.axis = plan.axis;
  const bool wide = !in_bytes(input.type) || !in_bytes(params.type);
  const Multiplied x{input.scale[0], wide ? 0 : largest_code_distance(input),
                     static_cast<double>(core::integer_limits(params.type).high)};
  if (!layout || (plan.axis && *plan.axis != layout->axis)) {
    // MatMul whose constant is A, or a constant vector: no bias, so that only the magnitudes count.
    params.scale = magnitudes_along(weight, plan.axis);
    for (auto& scale : params.scale) scale = weight_scale(scale, 0, 0, 0, x);
  } else {
    const auto needs =
        needs_of(weight, *layout, plan.axis.has_value(), bias_values(state, node, plan, layout->channels));
    for (std::size_t i = 0; i < needs.largest.size(); ++i) {
      params.scale.push_back(weight_scale(needs.largest[i], needs.sum[i], needs.bias[i], needs.products, x));
    }
  }
  params.zero_point.assign(params.scale.size(), 0);
  return params;
}

/// Scale s_x * s_w of each output channel; zero_point 0.
QuantParams bias_params(const QuantParams& input, const QuantParams& weight, std::size_t channels) {
  QuantParams params;
  params.type = DType::int32;
  const std::size_t count = weight.axis ? channels : 1;
  for (std::size_t channel = 0; channel < count; ++channel) {
    params.scale.push_back(to_float32(input.scale[0] * weight.scale[channel % weight.scale.size()]));
  }
  params.zero_point.assign(count, 0);
  if (weight.axis) params.axis = 0;
  return params;
}

/// Parameters that a DequantizeLinear of the model itself declares; nothing where they are not constant.
std::optional<QuantParams> authored_params(const State& state, const model::Wiring& wiring, std::string_view tensor) {
  const auto& graph = state.model.graph;
  const auto producer = wiring.producer(tensor);
  if (!producer || graph.nodes[*producer].op_type != "DequantizeLinear") return std::nullopt;
  return declared_params(graph, graph.nodes[*producer]);
}

/// Parameters of the activation that node `index` multiplies with its weight: ours, or those of the model itself.
std::optional<QuantParams> multiplied_params(const State& state, const model::Wiring& wiring, std::size_t index) {
  const auto& operands = state.plan.nodes[index].operands;
  const std::string input(state.model.graph.nodes[index].input(operands.empty() ? 0 : operands.front()));
  const auto found = state.params.find(input);
  return found == state.params.end() ? authored_params(state, wiring, input) : std::optional(found->second);
}

/// A float bias between the model's own Q/DQ nodes becomes int32 where each output channel has one weight scale.
Status assign_authored(State& state, const model::Wiring& wiring, std::size_t index) {
  const auto& node = state.model.graph.nodes[index];
  auto& plan = state.plan.nodes[index];
  const auto drop = [&] {
    plan.bias.reset();
    return core::success();
  };
  const auto input = multiplied_params(state, wiring, index);
  const auto weight = authored_params(state, wiring, node.input(1));
  if (!input || !weight || input->axis) return drop();
  const auto* codes = state.model.graph.initializer(state.model.graph.nodes[*wiring.producer(node.input(1))].input(0));
  const auto layout = codes == nullptr ? std::nullopt : weight_layout(node, codes->shape());
  if (!layout) return drop();
  const auto axis =
      weight->axis ? std::optional(*weight->axis < 0 ? *weight->axis + codes->rank() : *weight->axis) : std::nullopt;
  if (axis && *axis != layout->axis) return drop();
  const auto bias = bias_values(state, node, plan, layout->channels);
  const auto params = bias_params(*input, *weight, layout->channels);
  for (std::size_t channel = 0; channel < bias.size(); ++channel) {
    const double scale = params.scale[params.axis ? channel : 0];
    if (!(std::fabs(bias[channel]) / scale <= kAccumulatorLimit / 2)) return drop();
  }
  state.codes[index].bias = Coded{params, {}};
  return core::success();
}

}  // namespace

void assign_bias_scales(State& state) {
  const model::Wiring wiring(state.model.graph);
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    const auto& node = state.model.graph.nodes[i];
    const auto& plan = state.plan.nodes[i];
    auto& codes = state.codes[i];
    if (!codes.weight || !plan.bias) continue;
    const auto layout = weight_layout(node, state.model.graph.initializer(node.input(*plan.weight))->shape());
    codes.bias = Coded{bias_params(*multiplied_params(state, wiring, i), codes.weight->params, layout->channels), {}};
  }
}

Status assign(State& state) {
  state.params.clear();
  assign_activations(state);
  state.codes.assign(state.model.graph.nodes.size(), {});
  const model::Wiring wiring(state.model.graph);
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    const auto& node = state.model.graph.nodes[i];
    const auto& plan = state.plan.nodes[i];
    if (plan.authored && plan.bias) {
      if (auto done = assign_authored(state, wiring, i); !done) return done;
    }
    if (!plan.weight) continue;
    const auto* weight = state.model.graph.initializer(node.input(*plan.weight));
    if (plan.form == Form::weights) {
      const auto& options = state.options;
      state.codes[i].weight =
          Coded{stored_weight_params(*weight, plan.axis, plan.block, options.weight,
                                     options.symmetric || (options.dynamic && options.weight == DType::int8),
                                     options.scale_type),
                {}};
      continue;
    }
    const auto params = multiplied_params(state, wiring, i);
    if (!params) return failure_at(node, ErrorKind::internal, "the operand of its weight has no scale");
    state.codes[i].weight = Coded{weight_params(state, node, plan, *weight, *params), {}};
  }
  assign_bias_scales(state);
  return core::success();
}

}  // namespace assay::embedded
