#include "harness/judge/audit/assumed_params.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/range_cost.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using Ranges = std::map<std::string, std::pair<double, double>>;
using Params = std::map<std::string, core::QuantParams>;

/// Operands of what the policy aligns have one range, which covers all of theirs, and so has what shares a scale with
/// one of them. Constants, which nobody calibrates, keep theirs.
void align_ranges(const model::Graph& graph, const Constants& constants, const converters::Policy& policy,
                  Ranges& ranges) {
  const auto lists = [](const std::vector<std::string>& operators, const model::Node& node) {
    return std::ranges::find(operators, model::operator_name(node)) != operators.end();
  };
  std::map<std::string, std::set<std::string>> beside;
  std::set<std::string> open;
  for (const model::Node& node : graph.nodes) {
    std::vector<std::string> together;
    if (lists(policy.aligns, node)) {
      together.assign(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(data_input_count(node)));
      std::erase_if(together, [&](const std::string& tensor) { return constants.contains(tensor); });
      open.insert(together.begin(), together.end());
    } else if (policy.shares && lists(*policy.shares, node) && data_input_count(node) == 1) {
      together = node.outputs;
      together.emplace_back(node.input(0));
    }
    for (const std::string& tensor : together) beside[tensor].insert(together.begin(), together.end());
  }
  while (!open.empty()) {
    std::vector<std::string> group{*open.begin()};
    std::set<std::string> seen{group.front()};
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (const std::string& next : beside[group[i]]) {
        if (seen.insert(next).second) group.push_back(next);
      }
    }
    std::optional<std::pair<double, double>> all;
    for (const std::string& tensor : group) {
      open.erase(tensor);
      const auto found = ranges.find(tensor);
      if (found == ranges.end()) continue;
      const auto [low, high] = all.value_or(found->second);
      all = {std::min(low, found->second.first), std::max(high, found->second.second)};
    }
    for (const std::string& tensor : group) {
      if (const auto found = ranges.find(tensor); found != ranges.end()) found->second = *all;
    }
  }
}

class Assumed {
 public:
  Assumed(const LayerContext& context, const CalibrationRanges& calibration)
      : context_(context),
        evidence_(context.evidence),
        calibration_(calibration),
        policy_(evidence_.converter.policy.without_floor()) {  // these bound the granted error
    const model::Wiring wiring(evidence_.model->graph);
    for (const auto& [name, range] : calibration_.ranges) {
      if (!evidence_.options.calibrates()) break;
      if (!range.finite || range.samples == 0) continue;
      whole_[name] = {range.low, range.high};
      if (const auto producer = wiring.producer(name)) {
        const auto* fixed = fixed_range(evidence_, policy_, evidence_.model->graph.nodes[*producer]);
        if (fixed != nullptr) whole_[name] = *fixed;
      }
    }
  }

  [[nodiscard]] Params audited() const {
    Params params = params_of(whole_);
    for (const auto& [name, given] : context_.alignment->given) {
      const auto step = [](const core::QuantParams& each) { return each.scale.empty() ? 0 : each.scale.front(); };
      params[name] = *std::ranges::max_element(given, {}, step);
    }
    return params;
  }

  /// Where neither an artifact nor reported scales show which ends the method found. A search over several tensors at
  /// once may cut any of them further off than one of its own.
  [[nodiscard]] std::optional<OpenRanges> open() const {
    const converters::Method method = evidence_.options.method;
    const bool found_by_data = method != converters::Method::minmax || policy_.averaging != converters::Averaging::none;
    const bool joint = !policy_.aligns.empty() && method != converters::Method::minmax;
    if (context_.artifact != nullptr || !found_by_data || joint || method == converters::Method::given ||
        !has_calibrated_ranges(evidence_) || lists_scales(evidence_) || !context_.alignment->given.empty()) {
      return std::nullopt;
    }
    const LegalRanges legal(context_, calibration_);
    Ranges widest = whole_, narrowest = whole_;
    for (auto& [name, inner] : narrowest) {
      const auto allowed = legal.own(name);
      if (!allowed || allowed->fixed) continue;
      widest[name] = {allowed->low.low, allowed->high.high};
      inner = {allowed->low.high, allowed->high.low};
      if (const auto ends = searched_ends(name))
        inner = {std::min(inner.first, ends->low), std::max(inner.second, ends->high)};
    }
    return OpenRanges{params_of(std::move(widest)), params_of(std::move(narrowest))};
  }

 private:
  /// The narrowest that a search of the tensor's own values ends with; nothing where there is none.
  [[nodiscard]] std::optional<Interval> searched_ends(const std::string& tensor) const {
    const auto values = calibration_.sorted_values.find(tensor);
    if (values == calibration_.sorted_values.end()) return std::nullopt;
    const auto cost = searched_cost(evidence_.options.method, policy_, values->second);
    if (cost == nullptr) return std::nullopt;
    const core::IntegerLimits limits = core::integer_limits(evidence_.options.activation);
    return cost->narrowest(values->second, static_cast<double>(limits.high - limits.low),
                           evidence_.options.symmetric || policy_.one_threshold);
  }

  [[nodiscard]] Params params_of(Ranges ranges) const {
    align_ranges(evidence_.model->graph, context_.alignment->constants, policy_, ranges);
    Params params;
    for (const auto& [name, range] : ranges) {
      params.emplace(name, derive_params(range.first, range.second, evidence_.options.activation,
                                         evidence_.options.symmetric, policy_));
    }
    return params;
  }

  const LayerContext& context_;
  const Evidence& evidence_;
  const CalibrationRanges& calibration_;
  const converters::Policy policy_;
  Ranges whole_;  ///< over the calibration data, or as the policy fixes them
};

}  // namespace

std::pair<Params, std::optional<OpenRanges>> assume_params(const LayerContext& context,
                                                           const CalibrationRanges& calibration) {
  const Assumed assumed(context, calibration);
  return {assumed.audited(), assumed.open()};
}

}  // namespace assay::judge
