#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/bound_walk.hpp"
#include "harness/judge/quantization/supposed.hpp"

namespace assay::judge {

/// The original with the roundings that the converter's stated policy puts into it, computed by the float64 reference:
/// a prediction of what a correct engine gives. Granted parameters (bound_walk.hpp), nearest codes for weights and
/// biases, every tensor rounded where the artifact, the reported scales or the policy say that it is. Keeps a reference
/// to its arguments.
class FakeQuantization {
 public:
  FakeQuantization(const LayerContext& context, const QuantizationPlan& plan, Supposed supposed = {});

  /// Why the converter's choices aren't all known, so that a prediction may be recorded but gates nothing; empty where
  /// they are.
  [[nodiscard]] const std::string& unmodelled() const { return unmodelled_; }
  /// Choices are left open of which the noisiest are known: a correct engine's output may be less noisy than what is
  /// predicted, and no closer to it than another draw of its roundings.
  [[nodiscard]] bool is_noisiest() const { return noisiest_; }
  /// Every rounding is known, by the model's own quantizers or the reported scales, and so is who reads it: an engine
  /// that computes as the policy says gives this very tensor, but for ties and what its last places turn over.
  [[nodiscard]] bool is_settled() const;
  /// What nobody tells, where no artifact shows it, and this conversion has an instance of: the form of its constants,
  /// the scales of its weights of several matrices, what its branches and bodies read.
  [[nodiscard]] bool leaves_constants_open() const { return constants_open_; }
  [[nodiscard]] ConstantForm usual_form_of_constants() const;
  [[nodiscard]] bool leaves_matrices_open() const { return matrices_open_; }
  [[nodiscard]] bool leaves_bodies_open() const;
  [[nodiscard]] bool leaves_matrix_biases_open() const;
  /// From the next run on, an element of `tensor` is moved by `offset` before it is rounded; 0: as computed.
  void nudge(const std::string& tensor, std::size_t element, double offset) { nudges_[tensor][element] = offset; }
  /// From the next run on, what an inference finds the range of is moved by up to half a step before it is rounded, as
  /// drawn from `seed`.
  void shake_dynamic(std::uint64_t seed) { dynamic_draw_ = seed; }
  /// Runs one data set. Errors   those of the reference, by node.
  [[nodiscard]] core::Status run(const core::TensorMap& inputs);
  /// A tensor of the original after its own rounding where it has one, as the graph's outputs show it; null where
  /// there is none of that name. After run().
  [[nodiscard]] core::TensorPtr value(const std::string& tensor) const;
  /// A graph output as the converter gives it out: with no artifact that shows it, before its own rounding where the
  /// policy says that outputs stay in float. Null likewise.
  [[nodiscard]] core::TensorPtr shown(const std::string& output) const;
  /// A tensor before its own rounding, as the artifact's operator computes it; null likewise.
  [[nodiscard]] core::TensorPtr carried(const std::string& tensor) const;
  /// The weight of an entry on its predicted codes, in the layout of the effective model; null where it has none or it
  /// stays in float.
  [[nodiscard]] core::TensorPtr weight(std::size_t entry) const;
  /// The codes that a tensor is rounded to, where all of its roundings have one and the same scale.
  [[nodiscard]] std::optional<CodeSpan> codes_of(const std::string& tensor) const;
  /// Tensors that are rounded only if the converter chose so: graph outputs, and what only nodes in float read.
  [[nodiscard]] std::vector<std::string> optional_roundings() const;

 private:
  using Node = model::Node;
  struct Rounding {
    core::QuantParams params;  ///< granted
    std::string codes;         ///< artifact tensor, "" where there is none
    bool chained = false;      ///< quantizes what another quantizer made
  };
  void collect_roundings();
  void find_unmodelled();
  [[nodiscard]] std::string listed_without_tensor() const;
  void assume_roundings();
  [[nodiscard]] std::map<std::string, std::string, std::less<>> joined() const;
  [[nodiscard]] std::optional<core::QuantParams> covering(const Node& join) const;
  [[nodiscard]] bool comes_real(const std::string& tensor) const;
  [[nodiscard]] bool goes_out_unread(const std::string& tensor) const;
  void quantize_constants(std::size_t entry);
  [[nodiscard]] core::TensorPtr nearest_constant(const core::TensorPtr& value) const;
  void quantize_weight(std::size_t entry, const WeightSlots& slots, const ArtifactNode* made);
  [[nodiscard]] core::TensorPtr nearest_by_group(std::size_t entry, const core::Tensor& weight, std::int64_t axis,
                                                 const core::Tensor* bias, double input_scale,
                                                 std::vector<double>& scales) const;
  [[nodiscard]] const ArtifactNode* made_of(std::size_t entry) const;
  [[nodiscard]] bool runs_in_float(std::size_t entry) const;
  [[nodiscard]] bool has_no_int8_form(const Node& node) const;
  [[nodiscard]] bool may_stay_for_its_bias(const Node& node) const;
  [[nodiscard]] bool stays_for_its_bias(const Node& node) const;
  [[nodiscard]] bool is_read_for_biases_alone(const std::string& tensor) const;
  [[nodiscard]] bool keeps_weight(std::size_t entry) const;
  [[nodiscard]] bool is_read_in_int8(const std::string& tensor) const;
  [[nodiscard]] bool is_fused(const Node& maker, const std::string& tensor) const;
  [[nodiscard]] bool is_fused_bias(const Node& node) const;
  [[nodiscard]] bool may_be_less_noisy(const Alignment::Operation& entry) const;
  [[nodiscard]] bool follows_product(const Alignment::Operation& entry) const;
  [[nodiscard]] bool moves(const Node& node) const;
  void note_sums(std::size_t entry, std::vector<double> scales);
  [[nodiscard]] core::TensorPtr rounded_twice(const std::string& tensor, core::TensorPtr value, double scale) const;
  [[nodiscard]] core::TensorPtr joined_twice(const Node& join, std::size_t index, core::TensorPtr value) const;
  [[nodiscard]] const std::vector<Rounding>& roundings(const std::string& tensor) const;
  [[nodiscard]] core::TensorPtr rounded(const std::string& tensor, const std::string& codes) const;
  [[nodiscard]] core::TensorPtr operand(std::size_t entry, std::size_t index) const;
  [[nodiscard]] core::TensorPtr static_operand(std::size_t entry, std::size_t index) const;
  [[nodiscard]] core::TensorPtr captured(const std::string& tensor) const;

  const LayerContext& context_;
  const QuantizationPlan& plan_;
  Supposed supposed_;
  GrantedParams granted_;
  model::Wiring wiring_;
  std::map<std::string, std::vector<Rounding>, std::less<>> roundings_;  ///< by tensor of the original
  std::vector<std::map<std::size_t, core::TensorPtr>> constants_;        ///< per entry, by input index
  std::map<std::size_t, core::TensorPtr> weights_;
  std::map<std::string, core::TensorPtr, std::less<>> values_;  ///< before their own rounding
  /// Scales of the sums that a product with weights makes, of its channels along `axis` in turn, by the tensor that is
  /// rounded first behind it.
  struct Sums {
    std::vector<double> scales;
    std::int64_t axis = 1;  ///< -1: the last
  };
  std::map<std::string, Sums, std::less<>> sums_;
  std::map<std::string, std::map<std::size_t, double>, std::less<>> nudges_;
  std::optional<std::uint64_t> dynamic_draw_;
  std::string unmodelled_;
  bool noisiest_ = false;
  bool constants_open_ = false, matrices_open_ = false;
  bool given_ = false;  ///< the original is quantized itself: its own QuantizeLinear are all there is
};

}  // namespace assay::judge
