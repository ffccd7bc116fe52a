#include "harness/judge/audit/weight_policy.hpp"

#include <algorithm>
#include <string>

#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/evidence.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

/// The Convs of one group that a path from a graph input reaches through no other such Conv. Those that were asked for
/// in float count as none.
std::set<std::size_t> first_convolutions(const Evidence& evidence) {
  const model::Graph& graph = evidence.model->graph;
  const model::Wiring wiring(graph);
  std::vector<std::string> tensors;
  for (const model::ValueInfo& input : graph.inputs) tensors.push_back(input.name);
  std::set<std::size_t> seen, first;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string tensor = tensors[i];
    for (const std::size_t reader : wiring.consumers(tensor)) {
      if (!seen.insert(reader).second) continue;
      const model::Node& node = graph.nodes[reader];
      if (traits_of(node).product == Product::convolution && node.int_or("group", 1) == 1 &&
          !asked_in_float(evidence, node)) {
        first.insert(reader);
      } else {
        tensors.insert(tensors.end(), node.outputs.begin(), node.outputs.end());
      }
    }
  }
  return first;
}

}  // namespace

bool is_raised_for_bias(double scale, double needed) {
  constexpr double kRounding = 0x1p-22;  // the scale is a float32, and so is what it is made of
  return needed > 0 && scale >= needed * (1 - kRounding) && scale <= 2 * needed * (1 + kRounding);
}

bool has_whole_weights(const converters::Policy& policy, const std::string& op) {
  return std::ranges::find(policy.whole_weights, op) != policy.whole_weights.end();
}

WeightPolicy::WeightPolicy(const Evidence& evidence) : WeightPolicy(evidence, evidence.converter.policy) {}

WeightPolicy::WeightPolicy(const Evidence& evidence, const converters::Policy& policy)
    : per_axis_(evidence.options.per_axis), policy_(policy), of_first_(policy) {
  policy_.divisor = policy_.divisor_of_weights();
  if (policy_.first_divisor <= 0) return;
  of_first_.divisor = policy_.first_divisor;
  first_ = first_convolutions(evidence);
}

bool WeightPolicy::per_axis(const std::string& op) const { return per_axis_ && !has_whole_weights(policy_, op); }

void WeightPolicy::widen(const std::vector<double>& low, std::vector<double>& high) const {
  for (std::size_t c = 0; c < low.size(); ++c) high[c] = std::max(high[c], low[c] + policy_.range_floor);
  double widest = 0;
  for (std::size_t c = 0; c < low.size(); ++c) widest = std::max({widest, -low[c], high[c]});
  const double least = widest * policy_.channel_floor;
  for (std::size_t c = 0; c < low.size(); ++c) {
    if (std::max(-low[c], high[c]) < least) high[c] = least;
  }
}

}  // namespace assay::judge
