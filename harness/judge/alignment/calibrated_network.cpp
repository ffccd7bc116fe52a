#include "harness/judge/alignment/calibrated_network.hpp"
#include "harness/core/float_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// What float32 makes of the codes that an operand reads; null where it reads none that are known.
TensorPtr on_codes(const Operand& operand) {
  if (operand.constant_codes == nullptr || !operand.params) return nullptr;
  const auto channels = ChannelIndex::make(operand.constant_codes->shape(), *operand.params);
  if (!channels) return nullptr;
  const std::vector<double> codes = operand.constant_codes->to_reals();
  std::vector<double> values(codes.size());
  channels->for_each_run(codes.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    const auto zero_point =
        static_cast<double>(operand.params->zero_point.empty() ? 0 : operand.params->zero_point[channel]);
    const auto scale = static_cast<float>(operand.params->scale[channel]);
    for (std::size_t i = first; i < first + length; ++i) {
      values[i] = static_cast<double>(static_cast<float>(codes[i] - zero_point) * scale);
    }
  });
  return std::make_shared<const Tensor>(core::DType::float32, operand.constant_codes->shape(), std::move(values));
}

/// A constant on the codes that its own range gives, whatever the operand reads in the end: what brings operands to one
/// range comes after the ranges are measured. Null where the operand reads no constant codes.
TensorPtr on_own_codes(const Operand& operand, const TensorPtr& value, const converters::Policy& policy) {
  if (operand.constant_codes == nullptr || !operand.params || value->size() == 0) return nullptr;
  const core::QuantParams& read = *operand.params;
  const bool symmetric = std::ranges::all_of(read.zero_point, [](std::int64_t zero_point) { return zero_point == 0; });
  const auto [low, high] = std::ranges::minmax(value->reals());
  const core::QuantParams own = derive_params(low, high, read.type, symmetric, policy);
  std::vector<double> values(value->reals().begin(), value->reals().end());
  const auto scale = static_cast<float>(own.scale.front());
  const std::int64_t zero_point = own.zero_point.front();
  for (double& each : values) {
    // In float32: with 127.5 as divisor the least value lies on a tie between the last two codes.
    const float steps = static_cast<float>(each) / scale;
    const auto zero = static_cast<double>(zero_point);
    const double code =
        core::is_real(own.type)
            ? core::nearest_code(static_cast<double>(steps), own.type)
            : static_cast<double>(reference::quantize(static_cast<double>(steps), 1, zero_point, own.type));
    each = static_cast<double>(static_cast<float>(code - zero) * scale);
  }
  return std::make_shared<const Tensor>(core::DType::float32, value->shape(), std::move(values));
}

/// Of a Gemm: alpha is in the effective constants already, in the artifact's codes only where they took it in.
TensorPtr times_alpha(const TensorPtr& weight, double alpha) {
  if (alpha == 1) return weight;
  Tensor product = *weight;
  for (double& value : product.reals()) value *= alpha;
  return std::make_shared<const Tensor>(std::move(product));
}

bool is_bias(const Node& node, std::size_t index) { return index == kBias && takes_bias(traits_of(node).product); }

bool is_weight(const Node& node, std::size_t index) {
  const OperatorTraits& traits = traits_of(node);
  return index == 1 && (traits.product != Product::none || traits.normalization != Normalization::none);
}

/// The artifact's Conv that `node`, a ConvTranspose, came out as.
const ArtifactNode* conv_in_place_of(const Node& node, const ArtifactView& artifact) {
  for (const ArtifactNode& made : artifact.nodes()) {
    const std::string& output = artifact.artifact().graph.nodes[made.index].outputs.front();
    if (!made.original && traits_of(made.op).product == Product::convolution &&
        artifact.original_tensor(output) == node.outputs.front())
      return &made;
  }
  return nullptr;
}

/// A ConvTranspose's weight [C, M/g, …] where that of the Conv which it came out as, [M, C/g, …], stands on its codes;
/// `value` where there is no such.
TensorPtr of_plain_conv(const ArtifactNode& made, std::int64_t group, const TensorPtr& value) {
  const TensorPtr conv = made.inputs.size() > 1 ? on_codes(made.inputs[1]) : nullptr;
  if (conv == nullptr || conv->shape().size() != value->shape().size()) return value;
  const std::int64_t outputs = conv->shape()[0] / group, inputs = conv->shape()[1];
  core::Shape own = conv->shape();
  own[0] = inputs * group;
  own[1] = outputs;
  if (own != value->shape()) return value;
  const std::int64_t window = conv->size() / (conv->shape()[0] * inputs);
  std::vector<double> values(conv->reals().size());
  for (std::int64_t i = 0; i < conv->size(); ++i) {
    const std::int64_t at = i % window, c = i / window % inputs, m = i / window / inputs;
    const std::int64_t to = ((m / outputs * inputs + c) * outputs + m % outputs) * window + window - 1 - at;
    values[static_cast<std::size_t>(to)] = conv->reals()[static_cast<std::size_t>(i)];
  }
  return std::make_shared<const Tensor>(core::DType::float32, std::move(own), std::move(values));
}

/// The value that input `index` of `node` has while ranges are measured; `value` where that is its own.
TensorPtr calibrated_value(const Node& node, std::size_t index, const TensorPtr& value, const ArtifactNode& made,
                           const Node& plain, const converters::Policy& policy) {
  if (index >= made.inputs.size() || made.op != model::operator_name(node) || !value->is_real()) return value;
  const Operand& operand = made.inputs[index];
  const bool all = policy.calibrates == converters::CalibratedNetwork::quantized_constants;
  TensorPtr other;
  if (!is_bias(node, index) && (all || is_weight(node, index)) &&
      reads_transposed(plain, 1) == reads_transposed(node, 1)) {
    other = is_weight(node, index) ? on_codes(operand) : on_own_codes(operand, value, policy);
  }
  if (other == nullptr || other->shape() != value->shape()) return value;
  if (other->type() != value->type())
    other = std::make_shared<const Tensor>(value->type(), other->shape(), other->to_reals());
  return index == 1 ? times_alpha(other, alpha_of(plain)) : other;
}

/// A constant that an operator makes, such as a Cast: it is measured like any other tensor, and no parameter.
bool is_computed(const Alignment& alignment, const std::string& name) {
  const auto producer = alignment.wiring.producer(name);
  return producer && alignment.original->graph.nodes[*producer].op_type != "Constant";
}

}  // namespace

model::Model calibrated_network(const Alignment& alignment, const converters::Policy& policy) {
  const ArtifactView& artifact = *alignment.artifact;
  model::Model network = *alignment.original;
  network.graph.nodes.clear();
  for (const Alignment::Operation& operation : alignment.operations) {
    Node node = operation.node;
    const ArtifactNode* made = operation.made;
    const bool transposes = traits_of(node).product == Product::transposed_convolution;
    const ArtifactNode* conv = made == nullptr && transposes ? conv_in_place_of(node, artifact) : nullptr;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto constant = alignment.constants.find(node.inputs[i]);
      if (constant == alignment.constants.end()) continue;
      if (!is_weight(node, i) && is_computed(alignment, node.inputs[i])) continue;
      TensorPtr value = constant->second;
      if (conv != nullptr && is_weight(node, i)) {
        value = of_plain_conv(*conv, node.int_or("group", 1), value);
      } else if (made != nullptr) {
        value = calibrated_value(node, i, value, *made, artifact.artifact().graph.nodes[made->index], policy);
      }
      if (value == constant->second && network.graph.initializer(node.inputs[i]) != nullptr) continue;
      // Names of nodes may be equal.
      node.inputs[i] = model::fresh_name(network.graph, fmt::format("{}: input {} on its codes", node.name, i));
      network.graph.initializers[node.inputs[i]] = std::move(value);
    }
    network.graph.nodes.push_back(std::move(node));
  }
  return network;
}

}  // namespace assay::judge
