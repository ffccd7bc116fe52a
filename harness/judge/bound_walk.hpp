#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact_walk.hpp"
#include "harness/judge/effective_model.hpp"
#include "harness/judge/granted_params.hpp"
#include "harness/judge/layers.hpp"

namespace assay::judge {

/// Where correct quantization rounds, for one conversion: what the original's tensors, weights and biases are granted.
class QuantizationPlan {
 public:
  /// A quantization of one tensor of the original.
  struct Rounding {
    std::optional<CodeSpan> span;  ///< granted; nothing where one tensor has several scales
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

  [[nodiscard]] const EffectiveModel& model() const { return model_; }
  [[nodiscard]] const std::vector<Rounding>& roundings(const std::string& tensor) const;
  [[nodiscard]] const NodeConstants& constants(std::size_t entry) const { return constants_[entry]; }
  /// The artifact's codes that input `index` of entry reads, "" where it reads none or that is unknown.
  [[nodiscard]] std::string codes_read(std::size_t entry, std::size_t index) const;
  /// Steps of the codes that an engine may make of the entry's bias where the artifact leaves it real: s_x·s_w for each
  /// output channel, or one. Empty where it has no such bias, or no sum of one scale.
  [[nodiscard]] std::vector<double> real_bias_steps(std::size_t entry) const;
  /// The artifact rounds tensors that the original does not have: a bound from end to end would lack them.
  [[nodiscard]] bool has_inner_roundings() const { return has_inner_; }

 private:
  void collect_artifact_roundings();
  void assume_roundings();
  void collect_constants(std::size_t entry);
  void grant_split_bias(std::size_t entry, const ArtifactNode* made);
  void grant_weight(std::size_t entry, const WeightSlots& slots, const ArtifactNode* made);
  void grant_folded(std::size_t entry, const WeightSlots& slots);
  [[nodiscard]] const CodeSpan* data_span(const std::string& tensor) const;
  [[nodiscard]] std::string after_removed_activation(std::string tensor) const;
  [[nodiscard]] bool runs_in_float(const EffectiveModel::Entry& entry) const;

  const LayerContext& context_;
  EffectiveModel model_;
  GrantedParams granted_;
  std::map<std::string, std::vector<Rounding>, std::less<>> roundings_;
  std::vector<NodeConstants> constants_;
  std::map<std::size_t, Enclosure> folded_bias_;  ///< by entry of a BatchNormalization that may be folded
  bool has_inner_ = false;
};

/// The errors of correct quantization that a bound counts. What a source adds is the bound with it less the one without
/// (bound_terms.hpp).
struct ErrorSources {
  bool float32 = true;    ///< the executor's float32 arithmetic
  bool inputs = true;     ///< rounding and clipping of graph inputs
  bool inner = true;      ///< the same of tensors in between
  bool weights = true;    ///< rounding of weights
  bool biases = true;     ///< rounding of biases
  bool constants = true;  ///< rounding of other constant operands
};

/// What the executor at hand rounds beyond what the artifact's quantizers say (L1's style, or whatever it may be).
struct EngineRoundings {
  bool twice = false;  ///< every quantization: a quarter of a step more, of a double rounding
  bool bias = false;   ///< biases that the artifact leaves real, to codes of the accumulator

  friend bool operator==(const EngineRoundings&, const EngineRoundings&) = default;
};

/// One data set's way through the original, with bounds on what correct quantization may do to every tensor.
///
/// End to end: the bound grows from the inputs to the outputs. Locally (`known` given): every node starts from what
/// the artifact's tensors really hold, so that only its own errors count.
class BoundWalk {
 public:
  /// `known` gives the dequantized values of an artifact's codes by their name, or null; end to end it is empty.
  using Known = std::function<core::TensorPtr(const std::string& codes)>;
  BoundWalk(const QuantizationPlan& plan, const core::TensorMap& inputs, Known known, EngineRoundings roundings,
            const ErrorSources& sources = {});

  /// Sees every graph input (`entry` null) and every tensor that an entry makes, before its own quantization, as soon
  /// as it is bounded. A tensor is freed after its last reader.
  using OnTensor =
      std::function<void(const EffectiveModel::Entry* entry, const std::string& tensor, const Enclosure& value)>;
  void run(const OnTensor& on_tensor);
  /// Sees every output of a node with the node's inputs before (null for constants) and after rounding.
  using OnNode =
      std::function<void(std::size_t entry, const std::string& tensor, const std::vector<const Enclosure*>& before,
                         const std::vector<const Enclosure*>& read, const Enclosure& output)>;
  void observe_nodes(OnNode on_node) { on_node_ = std::move(on_node); }
  /// Q(t) for `rounding`: what the tensor carries and its own rounding or clipping.
  [[nodiscard]] Enclosure quantized(const Enclosure& tensor, const QuantizationPlan::Rounding& rounding) const;
  /// The tensor before and after any of its quantizations: end to end, who reads which is not asked.
  [[nodiscard]] Enclosure rounded(const std::string& tensor, const Enclosure& value) const;
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  [[nodiscard]] core::Result<std::vector<Enclosure>> enclose(const model::Node& node,
                                                             std::span<const Enclosure* const> inputs) const;
  /// Where the engine makes a code of the entry's bias, that bias within half a step of it.
  [[nodiscard]] std::optional<Enclosure> rounded_bias(std::size_t entry,
                                                      const std::vector<const Enclosure*>& inputs) const;
  /// Whether the sources count the error of constant `index` of the entry's inputs.
  [[nodiscard]] bool counts_constant(std::size_t entry, std::size_t index) const;
  [[nodiscard]] Enclosure passed_on(const Enclosure& tensor, const std::vector<const CodeSpan*>& spans,
                                    bool itself) const;
  [[nodiscard]] Enclosure operand(std::size_t entry, std::size_t index, const std::string& tensor,
                                  const Enclosure& value) const;

  const QuantizationPlan& plan_;
  [[nodiscard]] const Enclosure* find(const std::string& tensor) const;

  const core::TensorMap& inputs_;
  Known known_;
  EngineRoundings engine_;
  OnNode on_node_;
  ErrorSources sources_;
  std::map<std::string, Enclosure, std::less<>> values_;
  std::string note_;
};

}  // namespace assay::judge
