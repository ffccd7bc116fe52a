#include "harness/judge/calibrated_network.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/judge/effective_model.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// What float32 makes of the codes that an operand reads; null where it reads none that are known.
TensorPtr on_codes(const Operand& operand) {
  if (operand.constant_codes == nullptr || operand.constant_codes->is_real() || !operand.params) return nullptr;
  const auto channels = ChannelIndex::make(operand.constant_codes->shape(), *operand.params);
  if (!channels) return nullptr;
  const auto codes = operand.constant_codes->integers();
  std::vector<double> values(codes.size());
  channels->for_each_run(codes.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    const auto zero_point = operand.params->zero_point.empty() ? 0 : operand.params->zero_point[channel];
    const auto scale = static_cast<float>(operand.params->scale[channel]);
    for (std::size_t i = first; i < first + length; ++i) {
      values[i] = static_cast<double>(static_cast<float>(codes[i] - zero_point) * scale);
    }
  });
  return std::make_shared<const Tensor>(core::DType::float32, operand.constant_codes->shape(), std::move(values));
}

/// Of a Gemm: alpha is in the effective constants already, in the artifact's codes only where they took it in.
TensorPtr times_alpha(const TensorPtr& weight, double alpha) {
  if (alpha == 1) return weight;
  Tensor product = *weight;
  for (double& value : product.reals()) value *= alpha;
  return std::make_shared<const Tensor>(std::move(product));
}

bool is_bias(const Node& node, std::size_t index) {
  return index == kBias && (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm");
}

}  // namespace

model::Model calibrated_network(const model::Model& original, const ArtifactView& artifact) {
  const EffectiveModel effective = effective_model(original, &artifact);
  model::Model network = original;
  network.graph.nodes.clear();
  for (const EffectiveModel::Entry& entry : effective.entries) {
    Node node = entry.node;
    const ArtifactNode* made = artifact.find_original(entry.original);
    const Node* plain = made == nullptr ? nullptr : &artifact.artifact().graph.nodes[made->index];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto constant = effective.constants.find(node.inputs[i]);
      if (constant == effective.constants.end()) continue;
      TensorPtr value = constant->second;
      const bool same_layout = made != nullptr && i < made->inputs.size() && made->op == node.op_type &&
                               plain->int_or("transB", 0) == node.int_or("transB", 0);
      if (same_layout && !is_bias(node, i) && value->is_real()) {
        const TensorPtr codes = on_codes(made->inputs[i]);
        const bool weight_of_gemm = node.op_type == "Gemm" && i == 1;
        if (codes != nullptr && codes->shape() == value->shape()) {
          value = weight_of_gemm ? times_alpha(codes, plain->float_or("alpha", 1)) : codes;
        }
      }
      if (value == constant->second && network.graph.initializer(node.inputs[i]) != nullptr) continue;
      node.inputs[i] = fmt::format("{}: input {} on its codes", node.name, i);
      network.graph.initializers[node.inputs[i]] = std::move(value);
    }
    network.graph.nodes.push_back(std::move(node));
  }
  return network;
}

}  // namespace assay::judge
