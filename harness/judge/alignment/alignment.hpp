#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/tensor.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
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
/// y = gain·x + shift, one of each a channel.
struct GainAndShift {
  std::vector<double> gain, shift;
};
/// Of a BatchNormalization; nothing where its numbers aren't constant, real and as many of each.
[[nodiscard]] std::optional<GainAndShift> read_batch_normalization(const model::Node& node, const Constants& constants);

/// Nothing for operators without weight rules, and where neither operand is constant.
[[nodiscard]] std::optional<WeightSlots> weight_slots(const model::Node& node, const Constants& constants);

/// Parameters that the original model, where it is quantized already, gives its activations: they are to be kept, not
/// derived. By tensor; empty for a float model.
using GivenParams = std::map<std::string, std::vector<core::QuantParams>>;

/// What the converter is known to do with a BatchNormalization behind an operator with weights: fold it, or not.
using FoldsNormalization = std::function<std::optional<bool>(const model::Node& normalization)>;
using SupposesFolded = std::function<bool(const model::Node& product)>;

/// What the converter did with each node of the original: the one place where the structures of the two graphs are
/// compared. Every layer but L1 reads this, and none works it out again.
///
/// The operations are the original's nodes with Gemm's alpha and beta folded into its constants, and BatchNormalization
/// and constants that are added into the operator with weights before them where the converter did that; without the
/// copies that it took out.
class Alignment {
 public:
  /// Weight and bias with a BatchNormalization in them.
  struct Folded {
    core::TensorPtr weight, bias;
    std::vector<double> gains;  ///< per output channel γ/√(σ²+ε)
  };
  struct Operation {
    model::Node node;
    std::size_t original = 0;  ///< index in the original's graph (of the convolution, for a folded pair)
    std::size_t last = 0;      ///< index of the node whose output it makes (the BatchNormalization, the Add)
    /// Of a weighted operator: what a BatchNormalization behind it would make of its constants, where nobody knows
    /// whether the converter folded it. Of that BatchNormalization: the weighted operator's index.
    std::optional<Folded> maybe_folded;
    std::optional<std::size_t> maybe_folded_into;
    /// The artifact's node that does it; null where there is none, or no artifact.
    const ArtifactNode* made = nullptr;
    /// Inputs that are rounded to codes whose parameters each inference finds from the input itself.
    std::vector<std::size_t> dynamic{};
    /// Constants are added before a BatchNormalization that may have been folded.
    bool behind_addends = false;
    [[nodiscard]] bool rounds_dynamically(std::size_t input) const {
      return std::ranges::find(dynamic, input) != dynamic.end();
    }
  };

  /// `artifact` may be null: then `folds`, where it is given, says what the policy states and what is asked for. That a
  /// policy folds is a statement about Conv: which other operators a converter folds into differs too much to be taken
  /// for stated. Both models must outlive it.
  /// `supposed` says of an operator with weights whether a BatchNormalization behind it that nobody knows of was folded
  /// into it.
  [[nodiscard]] static Alignment of(const model::Model& original, const ArtifactView* artifact,
                                    const FoldsNormalization& folds = nullptr,
                                    const SupposesFolded& supposed = nullptr);
  /// Which node is which alone: no operations, nothing folded. Both must outlive it.
  Alignment(const model::Model& original, const ArtifactView* artifact);

  const model::Model* original;
  const ArtifactView* artifact;
  model::Wiring wiring;               ///< the original's
  std::vector<Operation> operations;  ///< in the original's order
  Constants constants;
  GivenParams given;

  /// The artifact's node for node `index` of the original; null where it was folded, fused or renamed, and without an
  /// artifact.
  [[nodiscard]] const ArtifactNode* made(std::size_t index) const;
  /// An artifact is known, and has no node for node `index` of the original.
  [[nodiscard]] bool is_gone(std::size_t index) const { return artifact != nullptr && made(index) == nullptr; }
  /// Whether the artifact's node for node `index` of the original multiplies with a weight in codes.
  [[nodiscard]] bool has_weight_in_codes(std::size_t index) const;
  /// The constants of `operation`, one after another, with more and more of what may have become part of it: constants
  /// that are added to what it makes and, where one BatchNormalization was or may have been folded, further ones.
  [[nodiscard]] std::vector<Folded> folded_further(const Operation& operation) const;
  /// The input of node `index` of the original that is a product's bias by itself: an Add of a constant to what a
  /// product with a weight in codes makes. Nothing where it is something else.
  [[nodiscard]] std::optional<std::size_t> bias_behind_product(std::size_t index) const;
  /// The artifact's codes that input `index` of an operation reads, "" where it reads none or that is unknown.
  [[nodiscard]] std::string codes_read(std::size_t operation, std::size_t index) const;
  struct Passed {
    double low = 0, high = 0;
  };
  /// What a Relu or Clip lets through; nothing of another operator, and where a bound is no constant.
  [[nodiscard]] std::optional<Passed> passed_by(const model::Node& node) const;
  /// The node of the original to which a value outside its limit, `actual` for the output of node `index`, points: an
  /// activation that is gone from the artifact only where it should have cut the value off, else the operator whose
  /// result it cuts.
  [[nodiscard]] std::size_t answers_for(std::size_t index, double actual) const;
  /// The tensor whose clamped codes stand for `tensor`: a Relu or Clip that alone reads it and is gone from the
  /// artifact lives on in the clamping of the quantizer before it.
  [[nodiscard]] std::string after_removed_activation(std::string tensor) const;
  [[nodiscard]] std::int64_t opset(const std::string& domain) const;
};

}  // namespace assay::judge
