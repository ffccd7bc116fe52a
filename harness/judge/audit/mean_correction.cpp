#include "harness/judge/audit/mean_correction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Shape;
using core::Tensor;

/// Of a mean in float32, beside the largest magnitude that goes into it.
constexpr double kMeanError = 0x1p-18;

bool has_channels(const model::Node& node) {
  const Product product = traits_of(node).product;
  return product == Product::convolution || product == Product::transposed_convolution;
}

/// The axis of a data tensor that holds a product's channels.
std::size_t channel_axis(const model::Node& node, const Shape& shape) {
  return has_channels(node) ? 1 : shape.size() - 1;
}

const std::vector<double>* means_of(const LayerContext& context, const model::Node& node, const std::string& tensor) {
  const auto found = context.calibration->means.find(tensor);
  if (found == context.calibration->means.end()) return nullptr;
  return has_channels(node) ? &found->second.along_channels : &found->second.along_last;
}

/// A tensor of one sample that has the mean of its channel everywhere.
std::optional<Tensor> filled(const std::vector<double>& means, Shape shape, std::size_t axis) {
  shape.front() = 1;
  if (axis >= shape.size() || means.size() != static_cast<std::size_t>(shape[axis])) return std::nullopt;
  const auto stride = static_cast<std::size_t>(core::element_count(std::span(shape).subspan(axis + 1)));
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = means[i / stride % means.size()];
  return Tensor(core::DType::float32, shape, std::move(values));
}

}  // namespace

std::optional<MeanCorrection> mean_correction(const LayerContext& context, const ArtifactNode& product,
                                              std::size_t weight) {
  constexpr std::size_t kOperands = 2;
  if (context.calibration == nullptr || !product.original || product.inputs.size() < kOperands) return std::nullopt;
  const model::Node& node = context.evidence.model->graph.nodes[*product.original];
  const std::size_t data = 1 - weight;
  const std::string x(node.input(data));
  const std::string& y = node.outputs.front();
  const auto input = context.ranges->find(x), output = context.ranges->find(y);
  const std::vector<double>* mean_x = means_of(context, node, x);
  const std::vector<double>* mean_y = means_of(context, node, y);
  const core::TensorPtr weights = dequantized_constant(product.inputs[weight]);
  if (input == context.ranges->end() || output == context.ranges->end() || mean_x == nullptr || mean_y == nullptr ||
      weights == nullptr || input->second.shape.size() < kOperands) {
    return std::nullopt;
  }
  auto filling = filled(*mean_x, input->second.shape, channel_axis(node, input->second.shape));
  if (!filling) return std::nullopt;
  std::array<const Tensor*, kOperands> inputs{};
  inputs[weight] = weights.get();
  inputs[data] = &*filling;
  const model::Model& artifact = context.artifact->artifact();
  model::Node alone = artifact.graph.nodes[product.index];
  alone.inputs.resize(kOperands);
  const auto opset = artifact.opsets.find(alone.domain);
  const auto made = reference::execute_node(alone, opset == artifact.opsets.end() ? 1 : opset->second, inputs);
  if (!made || made->empty()) return std::nullopt;
  const std::vector<double> reached = means_along(made->front(), channel_axis(node, made->front().shape()));
  // The original's result has its own bias in it.
  const auto constants = constants_of(context.evidence.model->graph);
  const core::TensorPtr bias = takes_bias(traits_of(node).product) ? find_constant(constants, node.input(2)) : nullptr;
  if (reached.size() != mean_y->size() ||
      (bias != nullptr && bias->size() != 1 && static_cast<std::size_t>(bias->size()) != reached.size())) {
    return std::nullopt;
  }
  const double beta = bias == nullptr ? 0 : beta_of(node);
  MeanCorrection correction;
  for (std::size_t c = 0; c < reached.size(); ++c) {
    const auto channel = bias == nullptr || bias->size() == 1 ? 0 : static_cast<std::int64_t>(c);
    const double own = bias == nullptr ? 0 : beta * bias->as_real(channel);
    correction.shift.push_back((*mean_y)[c] - own - reached[c]);
  }
  correction.slack = kMeanError * std::max({std::abs(output->second.low), std::abs(output->second.high)});
  return correction;
}

}  // namespace assay::judge
