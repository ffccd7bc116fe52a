#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/audit/audited_params.hpp"

namespace assay::judge {

/// L0: everything the artifact declares against what the harness computes from the same calibration data. `values` are
/// the calibration values where the method needs them. Findings carry layer "L0".
[[nodiscard]] std::vector<Finding> audit_parameters(const LayerContext& context, const CalibrationRanges& calibration,
                                                    Judgement& out);

/// Its parts, each about one rule of L0 (docs/oracle.md).

/// Scale and zero_point of every quantized activation, in the artifact or as reported.
[[nodiscard]] std::vector<Finding> audit_activations(const LayerContext& context, const CalibrationRanges& calibration);
/// Axis, count, scale and codes of weights, and the bias with them.
[[nodiscard]] std::vector<Finding> audit_weights(const LayerContext& context, Judgement& out);
/// Positive finite scales, Q/DQ pairs that agree, nothing quantized twice, given quantizers kept, and the four below.
[[nodiscard]] std::vector<Finding> audit_structure(const LayerContext& context, Judgement& out);
/// Under methods other than min-max: Concats whose output is narrower than a branch's own declared range. A note, and a
/// defect where requantizing to the branch's range would lower the output's error by more than chance explains. Adds
/// the metric `range_loss_db`.
[[nodiscard]] std::vector<Finding> audit_concats(const LayerContext& context, Judgement& out);
/// Codes that hold no value outside what a Relu or Clip lets through: quantizing does its work.
[[nodiscard]] bool cuts_like(const core::QuantParams& params, const Alignment::Passed& passed);
/// Relus and Clips that vanished where the quantization behind them doesn't clip as they would have.
[[nodiscard]] std::vector<Finding> audit_fusions(const LayerContext& context);
/// Constants of normalizations: no accumulator fixes their step, so that 8 bits over their own range are the least that
/// a converter has to keep of them, and of the gain that a variance gives.
[[nodiscard]] std::vector<Finding> audit_normalizations(const LayerContext& context);
/// Constants of the nodes that are found again in the artifact, other than the weights and biases of sums: each within
/// half its step of the float model's, or float32's error where it isn't quantized.
[[nodiscard]] std::vector<Finding> audit_constants(const LayerContext& context);
/// Attributes of the nodes that are found again in the artifact: on the float model's own values the artifact's form of
/// a node gives what the original's gives. Exact values show what the noise of a whole network hides.
[[nodiscard]] std::vector<Finding> audit_operators(const LayerContext& context);
/// Whether the artifact without its quantizers computes the float model's function, on the float model's own values.
[[nodiscard]] std::vector<Finding> audit_function(const LayerContext& context);
/// What the policy states (shares, fusions, folding, bias in float) and the artifact contradicts.
[[nodiscard]] std::vector<Finding> audit_policy(const LayerContext& context);
/// For a table of scales: operators on codes whose inputs have no entry, and none that they could take over.
[[nodiscard]] std::vector<Finding> audit_completeness(const LayerContext& context);
/// What the case expects of named tensors, and the converter's own table against its artifact.
[[nodiscard]] std::vector<Finding> audit_declared(const LayerContext& context);

/// The range that the policy fixes for what `node` makes, or null. Where the converter says that the node runs in float
/// there is none: a range is fixed for codes.
[[nodiscard]] const std::pair<double, double>* fixed_range(const Evidence& evidence, const converters::Policy& policy,
                                                           const model::Node& node);

/// What the explanation lists of every tensor that has parameters, audited or declared.
[[nodiscard]] std::vector<TensorParameters> tensor_parameters(const LayerContext& context);

/// Ranges that are legal for a tensor: its own, those it may share, those a fused activation or the policy gives.
class LegalRanges {
 public:
  /// `policy` replaces the converter's stated one.
  LegalRanges(const LayerContext& context, const CalibrationRanges& calibration,
              std::optional<converters::Policy> policy = std::nullopt);
  /// Own range first. Empty where the tensor has none (an integer tensor, values that aren't finite). With `params`,
  /// what those may stand for: a range is shared with tensors that really have its parameters, or none.
  [[nodiscard]] std::vector<AllowedRange> of(const std::string& tensor,
                                             const core::QuantParams* params = nullptr) const;
  /// Ranges of what operators that only move values make of `tensor`, where none but such read it: cutting it there
  /// cuts nothing but what their outputs' own codes would cut, since MaxPool and the like commute with clamping. No
  /// single one of them is legal for all of a Split's input, so that they aren't in of().
  [[nodiscard]] const std::vector<AllowedRange>& of_moved(const std::string& tensor) const;
  /// How `params` miss the tensor's own range where they fit no legal one. Nothing where they fit, or nothing is known;
  /// parameters that the model gives one of its tensors fit every tensor that shares them. `margin` as in
  /// check_params(), of the range that fits or else of the tensor's own.
  [[nodiscard]] std::optional<ParamFault> check(const std::string& tensor, const core::QuantParams& params,
                                                bool constant, ScaleMargin* margin = nullptr) const;
  /// Parameters that the model itself gives the tensor, or one that it may share with.
  [[nodiscard]] std::vector<core::QuantParams> given(const std::string& tensor) const;
  /// The tensor's own range by the stated method and policy; nothing where it has none.
  [[nodiscard]] std::optional<AllowedRange> own(const std::string& tensor) const;
  /// The model gives this very tensor parameters: no others are legal.
  [[nodiscard]] bool is_given(const std::string& tensor) const { return given_.contains(tensor); }

 private:
  void connect();
  void find_symmetric();
  /// Unsigned symmetric codes are centred at 128, or at 127 by converters that leave 255 unused: what most of an
  /// artifact's activations have.
  void find_unsigned_center();
  /// The extremes of a constant, whatever the method: it need not be calibrated.
  [[nodiscard]] std::optional<AllowedRange> exact_constant(const std::string& tensor) const;
  [[nodiscard]] bool is_moved_in_the_artifact(const std::string& tensor, const core::QuantParams& params) const;
  [[nodiscard]] bool fits_a_constant(const std::string& constant, const core::QuantParams& params) const;
  [[nodiscard]] bool keeps_its_input(const std::string& tensor, const core::QuantParams& params) const;
  [[nodiscard]] std::optional<AllowedRange> own(const std::string& tensor, const converters::Options& options) const;
  /// The range that the policy states for what makes `tensor`.
  [[nodiscard]] AllowedRange stated(const std::string& tensor, const std::pair<double, double>& range) const;
  /// The tensors that may share a range with one, and what is known of them.
  struct Group {
    std::vector<std::string> tensors;
    std::vector<AllowedRange> ranges;  ///< different ones
    std::vector<core::QuantParams> given;
    bool mutual = false;  ///< it is the group of each of its tensors
  };
  /// What the case states of the tensors that `tensor` may share a range with; null where it states nothing.
  [[nodiscard]] const std::vector<std::string>* stated_sharers(const std::string& tensor) const;
  [[nodiscard]] Group make_group(const std::string& tensor, const core::QuantParams* params) const;
  /// Of each group, made once. `params` as in of().
  [[nodiscard]] std::shared_ptr<const Group> group_of(const std::string& tensor, const core::QuantParams* params) const;
  void find_moved() const;
  /// Parameters that the conversion declares for `tensor`, in its artifact or its table; empty where it says none.
  [[nodiscard]] std::vector<const core::QuantParams*> declared(const std::string& tensor) const;
  /// The output of the Relu or Clip that alone reads `tensor`, or what it is moved or joined into, or "".
  [[nodiscard]] std::string sole_activation(std::string tensor) const;

  const LayerContext& context_;
  const CalibrationRanges& calibration_;
  converters::Policy policy_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  std::map<std::string, std::vector<std::string>> shared_, covers_;
  const GivenParams& given_;
  std::map<std::string, double, std::less<>> half_units_;  ///< unit roundoffs of the original's tensors of 16 bits
  std::int64_t unsigned_center_ = 128;
  std::set<std::string> symmetric_;  ///< may be so by the policy, where the other is asked for
  std::multimap<std::string, const core::QuantParams*> told_;  ///< by the converter's table, where there is no artifact
  mutable std::unordered_map<std::string, std::map<std::vector<double>, std::shared_ptr<const Group>>> groups_;
  mutable std::optional<std::unordered_map<std::string, std::vector<AllowedRange>>> moved_;
};

/// May the output of `node` keep its input's parameters: by the policy's `shares`, by the usual ones without?
[[nodiscard]] bool may_carry(const model::Node& node, const converters::Policy& policy);

/// Shorthand for a finding of this layer.
[[nodiscard]] Finding audit_finding(Facet facet, std::string tensor, std::string message, double margin = 0);

}  // namespace assay::judge
