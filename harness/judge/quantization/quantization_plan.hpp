#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/audit/granted_params.hpp"
#include "harness/judge/enclosures/enclosure.hpp"

namespace assay::judge {

/// Where correct quantization rounds, for one conversion: what the original's tensors, weights and biases are granted.
class QuantizationPlan {
 public:
  /// A quantization of one tensor of the original.
  struct Rounding {
    std::optional<CodeSpan> span;  ///< granted
    std::string codes;             ///< artifact tensor, "" where the artifact tells none
    bool chained = false;          ///< quantizes what another quantizer made
  };
  /// The constants of one node with the error that their quantization is granted.
  struct NodeConstants {
    std::map<std::size_t, Enclosure> inputs;  ///< by input index
    /// Whether rounding errors of the weights may be taken as independent draws: enough unlike values.
    bool independent = true;
  };

  explicit QuantizationPlan(const LayerContext& context);

  [[nodiscard]] const Alignment& alignment() const { return model_; }
  /// Codes whose range each inference finds may lie around zero; those of DynamicQuantizeLinear never do.
  /// Unit roundoff of the 16-bit floats in which the original or the artifact computes the entry; 0: float32, or nobody
  /// knows.
  [[nodiscard]] double half_unit_of(std::size_t entry) const {
    const ArtifactNode* made = context_.artifact == nullptr ? nullptr : model_.operations[entry].made;
    double unit = made == nullptr ? 0 : context_.artifact->unit(*made);
    for (const std::string& output : model_.operations[entry].node.outputs) unit = std::max(unit, half_unit_of(output));
    return unit;
  }
  /// The same of those in which a tensor is held.
  [[nodiscard]] double half_unit_of(const std::string& tensor) const {
    const auto own = original_units_.find(tensor);
    return std::max(own == original_units_.end() ? 0 : own->second,
                    context_.artifact == nullptr ? 0 : context_.artifact->unit(tensor));
  }
  /// A constant on the left of a product may have an activation's codes, where no artifact shows it: true where these
  /// have more than 8 bits, so that hardly any noise of it is left.
  [[nodiscard]] bool may_be_fine_data(std::size_t operation, std::size_t operand) const;
  [[nodiscard]] bool rounds_around_zero() const {
    return context_.artifact == nullptr && context_.evidence.options.symmetric;
  }
  [[nodiscard]] const std::vector<Rounding>& roundings(const std::string& tensor) const;
  [[nodiscard]] const NodeConstants& constants(std::size_t entry) const { return constants_[entry]; }
  /// The tensor whose roundings input `index` of the entry carries: the one that it reads, or what that is moved from.
  [[nodiscard]] std::string rounded_source(std::size_t entry, std::size_t index) const;
  /// Of a tensor's roundings the one that makes `codes`, else the first; null where there is none.
  template <typename R>
  [[nodiscard]] static const R* read_by(const std::vector<R>& all, const std::string& codes) {
    const auto own = std::ranges::find(all, codes, &R::codes);
    return all.empty() ? nullptr : own == all.end() ? &all.front() : &*own;
  }
  /// Steps of the codes that an engine may make of the entry's bias where the artifact leaves it real: s_x·s_w for each
  /// output channel, or one. Empty where it has no such bias, or no sum of one scale.
  [[nodiscard]] std::vector<double> real_bias_steps(std::size_t entry) const;
  /// The artifact rounds tensors that the original does not have: a bound from end to end would lack them.
  [[nodiscard]] bool has_inner_roundings() const { return has_inner_; }

 private:
  void collect_artifact_roundings();
  void assume_roundings();
  void collect_constants(std::size_t entry);
  void compute_constants(std::size_t entry);
  void grant_split_bias(std::size_t entry, const ArtifactNode* made);
  void grant_weight(std::size_t entry, const WeightSlots& slots, const ArtifactNode* made);
  void grant_folded(std::size_t entry, const WeightSlots& slots);
  [[nodiscard]] const CodeSpan* data_span(std::size_t entry, std::size_t index) const;
  [[nodiscard]] bool moves_constants(const model::Node& node) const;
  [[nodiscard]] bool runs_in_float(const Alignment::Operation& entry) const;

  const LayerContext& context_;
  const Alignment& model_;
  GrantedParams granted_;
  std::map<std::string, std::vector<Rounding>, std::less<>> roundings_;
  std::vector<NodeConstants> constants_;
  std::map<std::string, double, std::less<>> original_units_;  ///< of the original's tensors of 16 bits
  std::map<std::string, Enclosure, std::less<>> computed_;     ///< tensors that come of constants alone
  std::set<std::string, std::less<>> kept_;                    ///< of these, what the artifact computes as well
  std::map<std::size_t, Enclosure> folded_bias_;               ///< by entry of a BatchNormalization that may be folded
  bool has_inner_ = false;
};

}  // namespace assay::judge
