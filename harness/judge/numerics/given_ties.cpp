#include "harness/judge/numerics/given_ties.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

/// Roundings of float32 between a model's input and a quotient that is rounded.
constexpr double kQuotientError = 0x1p-20;

double share_of_tied_values(const Tensor& tensor, const Tensor& scale, const model::Node& quantizer) {
  const core::QuantParams params = quantizer_steps(quantizer, scale, tensor.rank());
  const auto channels = ChannelIndex::make(tensor.shape(), params);
  if (!channels) return 0;
  const std::span<const double> values = tensor.reals();
  std::size_t ties = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double quotient = values[i] / params.scale[channels->channel(i)];
    const double off = std::fabs(quotient - std::floor(quotient) - 0.5);
    if (off <= kQuotientError * std::max(std::fabs(quotient), 1.0)) ++ties;
  }
  return static_cast<double>(ties) / static_cast<double>(values.size());
}

}  // namespace

double share_of_ties(const model::Graph& graph, const core::TensorMap& reference) {
  const auto constants = constants_of(graph);
  double largest = 0;
  for (const model::Node& node : graph.nodes) {
    if (node.op_type != "QuantizeLinear") continue;
    const auto tensor = reference.find(std::string(node.input(0)));
    const auto scale = constants.find(node.input(1));
    if (tensor == reference.end() || !tensor->second.is_real() || tensor->second.size() == 0) continue;
    if (scale == constants.end() || !scale->second->is_real() || scale->second->size() == 0) continue;
    largest = std::max(largest, share_of_tied_values(tensor->second, *scale->second, node));
  }
  return largest;
}

}  // namespace assay::judge
