#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/audit.hpp"
#include "harness/judge/facets.hpp"

namespace assay::judge {
namespace {

/// Outputs of which more than this share is zero, or sits at one end, can hide any defect. "Nearly all" of DESIGN.
constexpr double kNearlyAll = 0.99;

bool listed(const Evidence& evidence, std::string_view data_set) {
  return std::ranges::any_of(evidence.test_case->inputs, [&](const auto& input) {
    return std::ranges::find(input.second.data_sets, data_set) != input.second.data_sets.end();
  });
}

/// Parameters of activations and of weights, wherever they are known from.
struct KnownParams {
  std::vector<core::QuantParams> activations, weights;
};
KnownParams known_params(const LayerContext& context) {
  KnownParams known;
  if (context.artifact != nullptr) {
    for (const Quantizer& quantizer : context.artifact->quantizers()) {
      if (!quantizer.constant) known.activations.push_back(quantizer.params);
    }
    for (const ArtifactNode& node : context.artifact->nodes()) {
      for (const Operand& input : node.inputs) {
        if (input.quantized() && input.constant_codes != nullptr && input.params->type != core::DType::int32) {
          known.weights.push_back(*input.params);
        }
      }
    }
    return known;
  }
  for (const auto& tensor : context.evidence.conversion.tensors) {
    const bool weight = context.evidence.model->graph.initializer(tensor.name) != nullptr;
    (weight ? known.weights : known.activations).push_back(tensor.params);
  }
  return known;
}

/// Does any graph input go beyond its calibrated range in the data set `saturate`?
bool saturates(const LayerContext& context) {
  for (const Execution& execution : context.evidence.executions) {
    if (execution.data_set != "saturate") continue;
    for (const auto& [name, tensor] : execution.inputs) {
      if (!tensor.is_real() || context.ranges == nullptr) continue;
      const auto range = context.ranges->find(name);
      if (range == context.ranges->end()) return true;
      const auto values = tensor.reals();
      if (std::ranges::any_of(values, [&](double v) { return v < range->second.low || v > range->second.high; }))
        return true;
    }
  }
  return false;
}

struct OutputTally {
  std::int64_t total = 0, zero = 0, low = 0, high = 0;
};

/// Zeros and end values of the reference's outputs over all data sets. A single value is degenerate by itself only
/// when it is zero.
OutputTally tally_outputs(const LayerContext& context) {
  OutputTally tally;
  for (const auto& reference : context.reference) {
    if (reference == nullptr) continue;
    for (const auto& output : context.evidence.model->graph.outputs) {
      const auto found = reference->find(output.name);
      if (found == reference->end() || !found->second.is_real()) continue;
      const auto range = context.ranges == nullptr ? RangeTable::const_iterator() : context.ranges->find(output.name);
      const bool ranged =
          context.ranges != nullptr && range != context.ranges->end() && range->second.low < range->second.high;
      for (const double value : found->second.reals()) {
        ++tally.total;
        if (value == 0) ++tally.zero;
        if (ranged && value <= range->second.low) ++tally.low;
        if (ranged && value >= range->second.high) ++tally.high;
      }
    }
  }
  return tally;
}

}  // namespace

std::optional<std::string> distrust(const LayerContext& context) {
  const Evidence& evidence = context.evidence;
  const KnownParams known = known_params(context);
  // Parameters that the model gives itself are what they are.
  const bool derived = given_params(*evidence.model).empty();
  if (derived && !evidence.options.symmetric && !known.activations.empty()) {
    const bool all_zero = std::ranges::all_of(known.activations, [](const core::QuantParams& params) {
      return std::ranges::all_of(params.zero_point, [](std::int64_t z) { return z == 0; });
    });
    if (all_zero)
      return "asymmetric options, but every activation's zero_point is 0: a dropped zero_point would not show";
  }
  if (derived && evidence.options.per_axis) {
    bool several = false, apart = false;
    for (const core::QuantParams& params : known.weights) {
      if (params.scale.size() < 2) continue;
      several = true;
      apart = apart || std::set<double>(params.scale.begin(), params.scale.end()).size() > 1;
    }
    if (several && !apart)
      return "per-axis options, but the scales of every weight are equal: a wrong axis would not show";
  }
  if (listed(evidence, "saturate") && !evidence.executions.empty() && !saturates(context)) {
    return "data set \"saturate\" is listed, but no input leaves its calibrated range";
  }
  const OutputTally tally = tally_outputs(context);
  const auto nearly_all = [&](std::int64_t count) {
    return static_cast<double>(count) > kNearlyAll * static_cast<double>(tally.total);
  };
  if (tally.total > 0 && nearly_all(tally.zero)) {
    return fmt::format("{} of {} reference outputs are zero over all data sets", tally.zero, tally.total);
  }
  if (tally.total > 0 && (nearly_all(tally.low) || nearly_all(tally.high))) {
    return fmt::format("{} of {} reference outputs sit at one end of their range over all data sets",
                       std::max(tally.low, tally.high), tally.total);
  }
  return std::nullopt;
}

}  // namespace assay::judge
