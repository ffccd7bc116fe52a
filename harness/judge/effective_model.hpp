#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/tensor.hpp"
#include "harness/judge/artifact_view.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Where an operator keeps its weight and bias, and along which axis of the weight its output channels lie.
struct WeightSlots {
  std::size_t weight = 1;
  std::int64_t axis = 0;      ///< of the weight; -1 where there is no channel axis
  bool has_bias_slot = true;  ///< input 2 is a bias
  /// A batch of weights: some converters give it one scale, whatever the granularity of others.
  bool batched = false;
};
/// Nothing for operators without weight rules, and where neither operand is constant.
[[nodiscard]] std::optional<WeightSlots> weight_slots(
    const model::Node& node, const std::map<std::string, core::TensorPtr, std::less<>>& constants);

/// The original with Gemm's alpha and beta folded into its constants, and BatchNormalization and constants that are
/// added into the operator with weights before them where the converter did that; without the copies that it took out.
struct EffectiveModel {
  /// Weight and bias with a BatchNormalization in them.
  struct Folded {
    core::TensorPtr weight, bias;
    std::vector<double> gains;  ///< per output channel γ/√(σ²+ε)
  };
  struct Entry {
    model::Node node;
    std::size_t original = 0;  ///< index in the original's graph (of the convolution, for a folded pair)
    std::size_t last = 0;      ///< index of the node whose output it makes (the BatchNormalization, the Add)
    /// Of a weighted operator: what a BatchNormalization behind it would make of its constants, where nobody knows
    /// whether the converter folded it. Of that BatchNormalization: the weighted operator's entry.
    std::optional<Folded> maybe_folded;
    std::optional<std::size_t> maybe_folded_into;
  };
  std::vector<Entry> entries;
  std::map<std::string, core::TensorPtr, std::less<>> constants;
  const model::Model* original = nullptr;

  [[nodiscard]] std::int64_t opset(const std::string& domain) const;
};

/// What the converter is known to do with a BatchNormalization behind an operator with weights: fold it, or not.
using FoldsNormalization = std::function<std::optional<bool>(const model::Node& normalization)>;

/// `artifact` may be null: then `folds`, where it is given, says what the policy states and what is asked for. That a
/// policy folds is a statement about Conv: which other operators a converter folds into differs too much to be taken
/// for stated.
[[nodiscard]] EffectiveModel effective_model(const model::Model& original, const ArtifactView* artifact,
                                             const FoldsNormalization& folds = nullptr);

}  // namespace assay::judge
