#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"
#include "reference/quant_layout.hpp"

namespace assay::judge {

/// The constants of a graph by name.
struct Constants : std::map<std::string, core::TensorPtr, std::less<>> {
  using map::map;
  /// Of scales that a DequantizeLinear makes of constant codes: how these are coded.
  std::map<std::string, core::QuantParams, std::less<>> coded_scales;
};

/// One data input of an operator of the artifact: a weight, an activation, a bias.
struct Operand {
  std::string name;      ///< tensor the operator reads in the artifact
  std::string original;  ///< tensor of the original model that it stands for, "" where unknown
  /// Tensor that holds its codes; "" where it is not quantized, or moved since it was (artifact_view.cpp).
  std::string codes;
  std::optional<core::QuantParams> params;  ///< of its DequantizeLinear
  core::TensorPtr constant_codes;           ///< codes known before running (a quantized initializer), else null
  core::TensorPtr constant_values;          ///< float constant that is not quantized, else null
  bool dynamic = false;                     ///< on codes whose parameters each inference finds from the operand itself
  double unit = 0;                          ///< unit roundoff of 16-bit floats that hold it, or its scale
  [[nodiscard]] bool quantized() const { return params.has_value(); }
  /// The operator reads the codes themselves, without a DequantizeLinear.
  [[nodiscard]] bool is_codes() const { return !codes.empty() && codes == name; }
};

/// An operator of the artifact that computes: everything but QuantizeLinear, DequantizeLinear, Constant and Identity.
struct ArtifactNode {
  std::size_t index = 0;                ///< in the artifact's graph
  std::optional<std::size_t> original;  ///< in the original's graph, where it could be matched
  std::string op;                       ///< the float operator's operator_name: "Conv" for QLinearConv too
  std::vector<Operand> inputs;          ///< in the float operator's order; left-out ones have an empty name
  /// Output i's parameters: of the QuantizeLinear that reads it, also through one Relu or Clip that stands between;
  /// else those of the operands, where their codes are only moved.
  std::vector<std::optional<core::QuantParams>> outputs;
  bool fused = false;  ///< a Relu or Clip that stands between an operator with quantized inputs and a QuantizeLinear
  bool quantized_inputs = false;   ///< every real data input (the bias apart) is quantized, once or in each inference
  bool quantized_outputs = false;  ///< every used output goes into a QuantizeLinear

  /// Moves codes as they are, so that its results are codes too.
  [[nodiscard]] bool on_codes() const { return !inputs.empty() && inputs.front().is_codes(); }
  /// Looks like an INT8 operator: between DequantizeLinear and QuantizeLinear.
  [[nodiscard]] bool integer() const { return fused || (quantized_inputs && quantized_outputs); }
  /// Nothing that it reads or gives has codes of 16 bits. Sums of such don't fit into 32 bits: engines take wider ones.
  [[nodiscard]] bool in_bytes() const;
};

/// One quantization of an activation: a QuantizeLinear.
struct Quantizer {
  std::size_t index = 0;   ///< artifact node
  std::string float_name;  ///< its input
  std::string codes;       ///< its output
  core::QuantParams params;
  std::string original;   ///< tensor of the original model, "" where unknown
  bool constant = false;  ///< quantizes a constant
  bool chained = false;   ///< its input is itself the output of a DequantizeLinear: a requantization
};

/// A parsed Q/DQ or QOperator model next to the float model it was made from. Works from structure: tensors and nodes
/// are matched by node name, then by output name, then by position among the nodes of an operator.
class ArtifactView {
 public:
  /// Errors   invalid_model where a scale or zero_point isn't constant or its shape breaks ONNX's rule, by node.
  [[nodiscard]] static core::Result<ArtifactView> build(std::shared_ptr<const model::Model> artifact,
                                                        const model::Model& original);

  [[nodiscard]] const model::Model& artifact() const { return *artifact_; }
  [[nodiscard]] const std::vector<ArtifactNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Quantizer>& quantizers() const { return quantizers_; }
  /// Names of the codes of all quantizers but those of constants.
  [[nodiscard]] std::set<std::string> computed_codes() const;
  /// The artifact's node for node `index` of the original graph; null where it was folded, fused or renamed.
  [[nodiscard]] const ArtifactNode* find_original(std::size_t index) const;
  /// The same by index in the artifact's graph; null for Q/DQ, Constant and Identity.
  [[nodiscard]] const ArtifactNode* find(std::size_t index) const;
  /// Parameters with which the original's tensor is quantized, in graph order; empty where it never is.
  [[nodiscard]] std::vector<const Quantizer*> quantizers_of(std::string_view original_tensor) const;
  /// Those that read the artifact's tensor of this name.
  [[nodiscard]] std::vector<const Quantizer*> quantizers_from(std::string_view float_name) const;
  /// The one that makes these codes; null where an operator does.
  [[nodiscard]] const Quantizer* quantizer_of_codes(std::string_view codes) const;
  /// The original tensor whose values `artifact_tensor` (float, codes or dequantized) carries; "" where unknown.
  [[nodiscard]] std::string original_tensor(std::string_view artifact_tensor) const;
  /// A constant of the artifact (initializer, Constant, through Identity and Cast); null otherwise.
  [[nodiscard]] core::TensorPtr constant(std::string_view artifact_tensor) const;
  /// Unit roundoff of the 16-bit floats in which the artifact holds a tensor, or a node's outputs; 0: it doesn't.
  [[nodiscard]] double unit(std::string_view artifact_tensor) const;
  [[nodiscard]] double unit(const ArtifactNode& node) const;
  [[nodiscard]] double largest_unit() const;
  [[nodiscard]] const std::map<std::string, double, std::less<>>& units() const { return units_; }

 private:
  friend class ArtifactReader;
  std::shared_ptr<const model::Model> artifact_;
  std::vector<ArtifactNode> nodes_;
  std::vector<Quantizer> quantizers_;
  Constants constants_;
  std::map<std::string, std::string, std::less<>> originals_;
  std::map<std::size_t, std::size_t> by_original_, by_index_;
  std::map<std::string, double, std::less<>> units_;  ///< of tensors of 16 bits
  /// Positions in quantizers_ by name; made when all else is read.
  struct Index {
    std::multimap<std::string, std::size_t, std::less<>> original, float_name, codes;
  } index_;
  void make_index();
  [[nodiscard]] std::vector<const Quantizer*> quantizers_at(
      const std::multimap<std::string, std::size_t, std::less<>>& index, std::string_view name) const;
};

/// Parameters of a QuantizeLinear or DequantizeLinear node. A one-element scale is per-tensor.
/// Errors   invalid_model, naming `node`, where they aren't constant or their shapes break ONNX's rule; a shape of
/// blocks is held against a constant's only.
[[nodiscard]] core::Result<core::QuantParams> read_quant_params(const model::Node& node, const Constants& constants);

/// Which of the parameters' channels, that is scales, an element belongs to: 0 throughout where they are per-tensor. In
/// blocks each block is a channel.
class ChannelIndex {
 public:
  /// Errors   invalid_model where the axis is outside the shape or the count isn't that of the axis's indices or
  /// blocks.
  [[nodiscard]] static core::Result<ChannelIndex> make(const core::Shape& shape, const core::QuantParams& params);
  /// The same by axis and block of the parameters alone, which must fit the shape; their scales aren't asked.
  [[nodiscard]] static ChannelIndex of_layout(const core::Shape& shape, const core::QuantParams& params);
  /// Channel of element `flat` in row-major order.
  [[nodiscard]] std::size_t channel(std::size_t flat) const {
    return extent_ == 1 ? 0 : static_cast<std::size_t>(layout_.scale_of(static_cast<std::int64_t>(flat)));
  }
  /// The number of scales.
  [[nodiscard]] std::size_t extent() const { return extent_; }
  /// Calls `visit(first, length, channel)` for each run of neighbours of one channel among the `count` elements.
  template <typename Visit>
  void for_each_run(std::size_t count, const Visit& visit) const {
    if (extent_ == 1) {
      if (count != 0) visit(std::size_t{0}, count, std::size_t{0});
      return;
    }
    layout_.for_each_run([&](std::int64_t first, std::int64_t length, std::int64_t channel) {
      visit(static_cast<std::size_t>(first), static_cast<std::size_t>(length), static_cast<std::size_t>(channel));
    });
  }

 private:
  reference::QuantLayout layout_;
  std::size_t extent_ = 1;
};

/// The codes of float values by ONNX's rule. Errors   invalid_model on NaN or an axis that doesn't fit.
[[nodiscard]] core::Result<core::Tensor> quantize_tensor(const core::Tensor& values, const core::QuantParams& params);

/// Real values of codes; nothing where the parameters don't fit them, or `codes` are none.
[[nodiscard]] std::optional<core::Tensor> dequantize_tensor(const core::Tensor& codes, const core::QuantParams& params);

/// The values of a constant operand's codes, without rounding; null where it has none.
[[nodiscard]] core::TensorPtr dequantized_constant(const Operand& operand);
/// A constant operand's values, those of its codes where it has codes; null where it is not constant.
[[nodiscard]] core::TensorPtr constant_value(const Operand& operand);

/// A constant of any graph by tensor name: initializer, Constant node, through Identity and Cast.
[[nodiscard]] Constants constants_of(const model::Graph& graph);
/// Tensors that depend on a graph input.
[[nodiscard]] std::set<std::string> varying_tensors(const model::Graph& graph);

}  // namespace assay::judge
