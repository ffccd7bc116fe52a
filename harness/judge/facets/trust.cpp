#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/facets/facets.hpp"

namespace assay::judge {
namespace {

/// Outputs of which more than this share is zero, or sits at one end, can hide any defect.
constexpr double kNearlyAll = 0.99;

bool listed(const Evidence& evidence, std::string_view data_set) {
  return std::ranges::any_of(evidence.test_case->inputs, [&](const auto& input) {
    return std::ranges::find(input.second.data_sets, data_set) != input.second.data_sets.end();
  });
}

/// What the data give a correct converter to do, by the harness's own numbers: zero points of the activations that are
/// quantized, and whether the channels of per-axis weights differ.
struct Discrimination {
  bool has_activations = false, zero_points = false;
  bool has_channels = false, channels_apart = false;
};

/// Largest magnitudes of a weight's channels along the declared axis, as a set.
std::set<double> channel_maxima(const core::Tensor& weight, const core::QuantParams& params) {
  const auto channels = ChannelIndex::make(weight.shape(), params);
  if (!channels || !weight.is_real()) return {};
  std::vector<double> maxima(channels->extent(), 0);
  const auto values = weight.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& largest = maxima[channels->channel(i)];
    largest = std::max(largest, std::abs(values[i]));
  }
  return {maxima.begin(), maxima.end()};
}

void add_activation(const LayerContext& context, const std::string& tensor, const core::QuantParams& declared,
                    Discrimination& seen) {
  const auto audited = context.audited.find(tensor);
  const core::QuantParams& params = audited == context.audited.end() ? declared : audited->second;
  const auto zero = [](std::int64_t z) { return z == 0; };
  const bool by_policy = context.evidence.converter.policy.unsigned_codes == converters::UnsignedCodes::nonnegative &&
                         params.type == core::DType::uint8 && std::ranges::all_of(params.zero_point, zero);
  if (by_policy) return;  // it has no zero_point to drop
  seen.has_activations = true;
  seen.zero_points = seen.zero_points || !std::ranges::all_of(params.zero_point, zero);
}

void add_weight(const LayerContext& context, const std::string& tensor, const core::QuantParams& declared,
                Discrimination& seen) {
  if (declared.scale.size() < 2) return;
  seen.has_channels = true;
  const core::TensorPtr weight = find_constant(context.alignment->constants, tensor);
  // Channels of equal magnitude may still have scales apart where the bias raises them.
  const std::set<double> scales(declared.scale.begin(), declared.scale.end());
  const bool apart = scales.size() > 1 || (weight != nullptr && channel_maxima(*weight, declared).size() > 1);
  seen.channels_apart = seen.channels_apart || apart;
}

Discrimination discrimination(const LayerContext& context) {
  Discrimination seen;
  if (context.artifact == nullptr) {
    for (const auto& tensor : context.evidence.conversion.tensors) {
      const bool weight = find_constant(context.alignment->constants, tensor.name) != nullptr;
      (weight ? add_weight : add_activation)(context, tensor.name, tensor.params, seen);
    }
    return seen;
  }
  for (const Quantizer& quantizer : context.artifact->quantizers()) {
    if (!quantizer.constant) add_activation(context, quantizer.original, quantizer.params, seen);
  }
  for (const ArtifactNode& node : context.artifact->nodes()) {
    for (const Operand& input : node.inputs) {
      const bool weight =
          input.quantized() && input.constant_codes != nullptr && input.params->type != core::DType::int32;
      if (weight) add_weight(context, input.original, *input.params, seen);
    }
  }
  return seen;
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
  // Parameters that the model gives itself are what they are.
  if (context.alignment->given.empty()) {
    const Discrimination seen = discrimination(context);
    if (!evidence.options.symmetric && seen.has_activations && !seen.zero_points) {
      return "asymmetric options, but every activation's zero_point is 0: a dropped zero_point would not show";
    }
    if (evidence.options.per_axis && seen.has_channels && !seen.channels_apart) {
      return "per-axis options, but the channels of every weight are alike: a wrong axis would not show";
    }
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

bool is_about_range(const LayerContext& context, const Finding& finding) {
  const bool parameters = finding.facet == Facet::scale || finding.facet == Facet::zero_point;
  return parameters && finding.layer == "L0" && context.evidence.model->graph.initializer(finding.tensor) == nullptr;
}

std::size_t doubted_ranges(const LayerContext& context, const std::vector<Finding>& findings) {
  // Of a conversion that ran here it is known what was fed to it.
  if (!context.evidence.stated_options || context.evidence.calibration == nullptr || context.artifact == nullptr)
    return 0;
  std::set<std::string> ranges, differ;
  for (const Quantizer& quantizer : context.artifact->quantizers()) {
    if (!quantizer.constant && context.audited.contains(quantizer.original)) ranges.insert(quantizer.original);
  }
  for (const Finding& finding : findings) {
    if (is_about_range(context, finding) && ranges.contains(finding.tensor)) differ.insert(finding.tensor);
  }
  constexpr std::size_t kFewest = 3;
  constexpr double kNearlyEvery = 0.8;
  if (differ.size() < kFewest) return 0;
  if (static_cast<double>(differ.size()) < kNearlyEvery * static_cast<double>(ranges.size())) return 0;
  return differ.size();
}

}  // namespace assay::judge
