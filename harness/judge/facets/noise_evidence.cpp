#include "harness/judge/facets/noise_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/audit/granted_params.hpp"
#include "harness/judge/evidence/measured_limits.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

/// A bias that int32 can't hold at the step of its product: whether a converter makes the weight's step larger, and
/// with that the noise, or leaves such a bias in float, nobody says.
bool any_bias_beyond_codes(const LayerContext& context) {
  const GrantedParams granted(context);
  const Alignment& alignment = *context.alignment;
  return std::ranges::any_of(alignment.operations, [&](const Alignment::Operation& entry) {
    const auto slots = weight_slots(entry.node, alignment.constants);
    if (!slots || !slots->has_bias_slot || entry.node.input(2).empty()) return false;
    const auto bias = alignment.constants.find(entry.node.input(2));
    const auto read = context.audited.find(entry.node.inputs[slots->weight == 0 ? 1 : 0]);
    const core::TensorPtr weight = alignment.constants.find(entry.node.inputs[slots->weight])->second;
    if (bias == alignment.constants.end() || read == context.audited.end() || !weight->is_real()) return false;
    const auto scales = [&](const core::Tensor* own) {
      return granted.usual_weight_params(entry.original, *weight, slots->axis, own, read->second.scale.front()).scale;
    };
    return scales(bias->second.get()) != scales(nullptr);
  });
}

}  // namespace

std::optional<NoiseEvidence> weigh_noise(const LayerContext& context, Grounds& grounds) {
  if (context.ranges != nullptr && (any_free_scale(*context.ranges) || any_bias_beyond_codes(context))) {
    return std::nullopt;
  }
  // What may stay in float carries none of its own.
  const Alignment& alignment = *context.alignment;
  if (std::ranges::any_of(alignment.operations, [&](const Alignment::Operation& entry) {
        return has_matrix_bias(entry.node, alignment.constants);
      })) {
    return std::nullopt;
  }
  double error = 0, predicted = 0, signal = 0;
  DistinctCount distinct(kDistinctOutputs);  // more of them decide nothing
  NoiseEvidence evidence;
  const std::set<std::string> varying = varying_tensors(context.evidence.model->graph);
  for (std::size_t i = 0; i < context.evidence.executions.size(); ++i) {
    const Execution& execution = context.evidence.executions[i];
    if (execution.data_set != "typical" || execution.reply.outcome != converters::Outcome::ok ||
        i >= context.reference.size() || context.reference[i] == nullptr) {
      continue;
    }
    const std::optional<NoisePrediction>& noise = grounds.noise(execution.inputs, Steps::finest);
    if (!noise) {
      return std::nullopt;
    }
    for (const model::ValueInfo& output : context.evidence.model->graph.outputs) {
      const auto actual = execution.outputs.find(output.name);
      const auto expected = context.reference[i]->find(output.name);
      const auto variance = noise->variance.find(output.name);
      // What is made of constants alone is computed once, in float.
      if (!varying.contains(output.name) || actual == execution.outputs.end() ||
          expected == context.reference[i]->end() || variance == noise->variance.end() || !actual->second.is_real() ||
          !expected->second.is_real() || actual->second.shape() != expected->second.shape()) {
        continue;
      }
      const std::span<const double> is = actual->second.reals();
      const std::span<const double> should = expected->second.reals();
      for (std::size_t k = 0; k < is.size(); ++k) {
        error += (is[k] - should[k]) * (is[k] - should[k]);
        predicted += variance->second[k];
        signal += should[k] * should[k];
      }
      distinct.add(should);
      if (expected->second.rank() > 1) {
        evidence.input_vectors = std::max(evidence.input_vectors, expected->second.shape().front());
      }
    }
  }
  // Noise beyond the signal isn't carried on as if it were small: a saturated Sigmoid swallows what its slopes predict.
  if (!(predicted > 0) || predicted > signal) {
    return std::nullopt;
  }
  evidence.ratio = error / predicted;
  evidence.distinct = distinct.count();
  return evidence;
}

namespace {

/// Output channels of the weight that rounding to codes moves.
std::int64_t rounded_channels(const LayerContext& context, const model::Node& node, const core::Tensor& weight) {
  constexpr double kOnGrid = 0.01;  // of a step: less than the float32 error of a scale does to 127 steps, and no noise
  const WeightLayout layout = weight_layout(node, weight.rank());
  const bool per_axis = context.evidence.options.per_axis;
  const auto count = static_cast<std::size_t>(layout.channels(weight.shape()));
  std::vector<double> largest(count, 0);
  const std::vector<double> values = weight.to_reals();
  const auto channel = [&](std::size_t i) { return layout.channel(weight.shape(), i); };
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& most = largest[per_axis ? channel(i) : 0];
    most = std::max(most, std::abs(values[i]));
  }
  std::vector<bool> moves(count, false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = largest[per_axis ? channel(i) : 0] / context.evidence.converter.policy.divisor_of_weights();
    const double steps = step > 0 ? values[i] / step : 0;
    if (std::abs(steps - std::nearbyint(steps)) > kOnGrid) moves[channel(i)] = true;
  }
  return std::ranges::count(moves, true);
}

/// Activations of 16 bits leave the noise to the weights, whose roundings are the same for every input: the fewest
/// output channels of a constant weight that round. Nothing where activations are narrower.
std::optional<std::int64_t> channels_that_draw(const LayerContext& context) {
  constexpr std::size_t kNarrow = 8;
  if (core::element_size_bits(context.evidence.options.activation) <= kNarrow) return std::nullopt;
  std::optional<std::int64_t> fewest;
  const model::Graph& graph = context.evidence.model->graph;
  for (const model::Node& node : graph.nodes) {
    const core::Tensor* weight = sums_products(node) ? graph.initializer(node.input(1)) : nullptr;
    if (weight == nullptr || !weight->is_real() || weight->rank() == 0) continue;
    const std::int64_t channels = rounded_channels(context, node, *weight);
    fewest = std::min(fewest.value_or(channels), channels);
  }
  return fewest;
}

}  // namespace

double float_noise_limit(const LayerContext& context, const NoiseEvidence& evidence) {
  std::optional<std::int64_t> draws = channels_that_draw(context);
  if (evidence.distinct < kDistinctOutputs) {
    if (evidence.distinct < kCodesInUse || evidence.input_vectors == 0) return 0;
    draws = std::min(draws.value_or(evidence.input_vectors), evidence.input_vectors);
  }
  if (!draws) return kFloatNoiseRatio;
  if (*draws == 0) return 0;  // nothing rounds
  // Of n independent draws, mean(e²) falls below R of its expectation with at most (R·e^(1−R))^(n/2).
  const double exponent = alarm_exponent(context, kMeasuredShare);
  const double drawn = std::exp(-1 - 2 * exponent / static_cast<double>(*draws));
  // An operator on codes gives multiples of a step, and the exact outputs lie anywhere between two: n unlike ones that
  // are all as near as R says fill (2πe·R·(σ / step)²)^(n/2) of the steps' volume, whatever the inputs.
  constexpr double kMostSteps = 1000;  // of s_x·s_w in the noise's deviation: some hundreds for sums of 1000 products
  const double near = std::exp(-2 * exponent / static_cast<double>(evidence.distinct)) /
                      (2 * std::numbers::pi * std::numbers::e * kMostSteps * kMostSteps);
  return std::min(kFloatNoiseRatio, std::max(drawn, near));
}

}  // namespace assay::judge
