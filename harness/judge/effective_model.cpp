#include "harness/judge/effective_model.hpp"

#include <cmath>
#include <set>

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;
using Constants = std::map<std::string, TensorPtr, std::less<>>;

TensorPtr find(const Constants& constants, std::string_view name) {
  const auto found = constants.find(name);
  return found == constants.end() ? nullptr : found->second;
}

/// y = gain·x + shift per channel.
struct Affine {
  std::vector<double> gain, shift;
};

std::optional<Affine> read_batch_normalization(const Node& node, const Constants& constants) {
  std::vector<std::vector<double>> parts;
  for (std::size_t i = 1; i <= 4; ++i) {
    const TensorPtr part = find(constants, node.input(i));
    if (part == nullptr || !part->is_real()) {
      return std::nullopt;
    }
    parts.push_back(part->to_reals());
    if (parts.back().size() != parts.front().size()) {
      return std::nullopt;
    }
  }
  const double epsilon = node.float_or("epsilon", 1e-5);
  Affine affine;
  for (std::size_t c = 0; c < parts[0].size(); ++c) {
    const double gain = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    affine.gain.push_back(gain);
    affine.shift.push_back(parts[1][c] - parts[2][c] * gain);
  }
  return affine;
}

/// Output channel of element `flat` of a convolution's weight.
std::size_t output_channel(const Node& node, const Tensor& weight, std::size_t flat) {
  const core::Shape& shape = weight.shape();
  std::size_t inner = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const auto second = static_cast<std::size_t>(shape[1]);
  if (node.op_type == "Conv") {
    return flat / (inner * second);
  }
  const auto groups = static_cast<std::size_t>(node.int_or("group", 1));
  const std::size_t in_channel = flat / (inner * second);
  const std::size_t per_group = static_cast<std::size_t>(shape[0]) / groups;
  return in_channel / per_group * second + flat / inner % second;
}

/// The pair as one node; nothing where shapes do not fit (somebody else's finding).
std::optional<EffectiveModel::Entry> fold(const Node& convolution, const Node& normalization, Constants& constants) {
  const TensorPtr weight = find(constants, convolution.input(1));
  const std::optional<Affine> affine = read_batch_normalization(normalization, constants);
  if (weight == nullptr || !affine || weight->rank() < 3) {
    return std::nullopt;
  }
  const std::size_t channels = affine->gain.size();
  Tensor folded = *weight;
  for (std::size_t i = 0; i < folded.reals().size(); ++i) {
    const std::size_t channel = output_channel(convolution, *weight, i);
    if (channel >= channels) {
      return std::nullopt;
    }
    folded.reals()[i] *= affine->gain[channel];
  }
  std::vector<double> bias = affine->shift;
  if (!convolution.input(2).empty()) {
    const TensorPtr old = find(constants, convolution.input(2));
    if (old == nullptr || static_cast<std::size_t>(old->size()) != channels) {
      return std::nullopt;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      bias[c] += affine->gain[c] * old->as_real(static_cast<std::int64_t>(c));
    }
  }
  EffectiveModel::Entry entry;
  entry.node = convolution;
  entry.node.outputs = {normalization.outputs.front()};
  const std::string stem = convolution.name + " with " + normalization.name;
  entry.node.inputs.resize(3);
  entry.node.inputs[1] = stem + ": weight";
  entry.node.inputs[2] = stem + ": bias";
  entry.gains = affine->gain;
  constants[entry.node.inputs[1]] = std::make_shared<const Tensor>(std::move(folded));
  constants[entry.node.inputs[2]] =
      std::make_shared<const Tensor>(weight->type(), core::Shape{static_cast<std::int64_t>(channels)}, std::move(bias));
  return entry;
}

TensorPtr multiplied(const Tensor& tensor, double factor) {
  Tensor product = tensor;
  for (double& value : product.reals()) {
    value *= factor;
  }
  return std::make_shared<const Tensor>(std::move(product));
}

/// Gemm's alpha and beta go into its constants: what is left is y = x·w + b.
void take_factors(Node& node, Constants& constants) {
  const TensorPtr weight = find(constants, node.input(1));
  const TensorPtr bias = find(constants, node.input(2));
  const bool open_bias = !node.input(2).empty() && bias == nullptr;
  if (node.op_type != "Gemm" || weight == nullptr || !weight->is_real() || open_bias) {
    return;
  }
  const double alpha = node.float_or("alpha", 1), beta = node.float_or("beta", 1);
  if (alpha != 1) {
    node.inputs[1] = node.name + ": alpha times weight";
    constants[node.inputs[1]] = multiplied(*weight, alpha);
  }
  if (beta != 1 && bias != nullptr) {
    node.inputs[2] = node.name + ": beta times bias";
    constants[node.inputs[2]] = multiplied(*bias, beta);
  }
  node.attributes["alpha"] = 1.0;
  node.attributes["beta"] = 1.0;
}

}  // namespace

std::optional<WeightSlots> weight_slots(const Node& node, const Constants& constants) {
  const auto constant = [&](std::size_t index) { return find(constants, node.input(index)) != nullptr; };
  const std::string& op = node.op_type;
  if (!node.domain.empty()) {
    return std::nullopt;
  }
  if (op == "Conv" && constant(1)) {
    return WeightSlots{1, 0, true};
  }
  if (op == "ConvTranspose" && constant(1)) {
    return WeightSlots{1, 1, true};
  }
  if (op == "Gemm" && constant(1)) {
    return WeightSlots{1, node.int_or("transB", 0) != 0 ? 0 : 1, true};
  }
  if (op == "MatMul" && constant(1)) {
    const std::int64_t rank = find(constants, node.input(1))->rank();
    return WeightSlots{1, rank < 2 ? -1 : rank - 1, false};
  }
  if (op == "MatMul" && constant(0)) {
    const std::int64_t rank = find(constants, node.input(0))->rank();
    return WeightSlots{0, rank < 2 ? -1 : rank - 2, false};
  }
  return std::nullopt;
}

std::int64_t EffectiveModel::opset(const std::string& domain) const {
  const auto found = original->opsets.find(domain);
  return found == original->opsets.end() ? 1 : found->second;
}

EffectiveModel effective_model(const model::Model& original, const ArtifactView* artifact, std::optional<bool> folds) {
  EffectiveModel effective;
  effective.original = &original;
  effective.constants = constants_of(original.graph);
  const model::Wiring wiring(original.graph);
  std::set<std::size_t> folded;
  for (std::size_t i = 0; i < original.graph.nodes.size(); ++i) {
    const Node& node = original.graph.nodes[i];
    if (folded.contains(i)) {
      continue;
    }
    EffectiveModel::Entry entry{node, i, i, {}};
    take_factors(entry.node, effective.constants);
    const bool convolution = node.op_type == "Conv" || node.op_type == "ConvTranspose";
    if (convolution && node.domain.empty() && !wiring.is_output(node.outputs.front())) {
      const std::vector<std::size_t>& readers = wiring.consumers(node.outputs.front());
      const bool normalized = readers.size() == 1 && original.graph.nodes[readers[0]].op_type == "BatchNormalization" &&
                              original.graph.nodes[readers[0]].input(0) == node.outputs.front();
      const bool wanted =
          normalized && (artifact != nullptr ? artifact->find_original(readers[0]) == nullptr : folds.value_or(true));
      if (wanted) {
        auto pair = fold(node, original.graph.nodes[readers[0]], effective.constants);
        if (pair) {
          entry = std::move(*pair);
          entry.original = i;
          entry.last = readers[0];
          folded.insert(readers[0]);
          if (artifact != nullptr || folds.value_or(false)) {
            entry.gains.clear();  // the weight was folded before it was quantized
          }
        }
      }
    }
    effective.entries.push_back(std::move(entry));
  }
  return effective;
}

}  // namespace assay::judge
