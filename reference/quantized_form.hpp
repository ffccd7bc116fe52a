#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/block_codes.hpp"
#include "reference/op.hpp"

namespace assay::reference {

/// An operator on codes (QLinearAdd) as the operator on values that it stands for, between its own quantizers:
/// DequantizeLinear of each operand, the operator, QuantizeLinear of the result.
struct QuantizedForm {
  std::string_view op;                ///< the operator on values, of ONNX's own domain
  std::int64_t opset = 1;             ///< the version of `op` that it follows, where attribute opset names no other
  std::int64_t last_opset = 28;       ///< the last one in which `op` still takes these attributes
  std::size_t operands = 1;           ///< how many operands of codes; 0: as many as the node has
  std::size_t first = 0;              ///< input that is the first one
  std::size_t plain = 0;              ///< how many inputs at the front go to `op` as they are
  std::size_t output = 3;             ///< input that is the result's scale; its zero point is the next one
  std::optional<std::size_t> bias{};  ///< input of int32 codes whose scale is the product of the operands' scales
  std::int64_t axis = 0;  ///< along which the second operand may have a scale for each output channel or column

  /// Of an operator with one operand of codes, in blocks, and a real result: what the operand is. It reads the node and
  /// the inputs that hold the operand alone; Errors   those that don't fit.
  Result<BlockCodes> (*unpack)(const OpCall& call) = nullptr;
  ShapeRule values = nullptr;            ///< ... and the facts of the operand's values
  std::optional<std::size_t> behind{};   ///< ... an input that goes to `op` as it is, behind the operand
  std::optional<std::size_t> addend{};   ///< ... an input that is added to the result of `op`
  std::string_view axis_attribute = "";  ///< ... the attribute that is `op`'s attribute axis

  /// Whether a node of ONNX's own in a model of this opset computes what `node` does.
  [[nodiscard]] bool fits(const Node& node, std::int64_t model_opset) const {
    return (node.int_or("opset", opset) >= opset) == (model_opset >= opset) && model_opset <= last_opset;
  }
  /// The axis of the second operand's scales in this node.
  [[nodiscard]] std::int64_t weight_axis(const Node& node) const { return node.int_or("transB", 0) != 0 ? 0 : axis; }
  /// The input that is operand `index`. Its scale and its zero point are the two inputs behind it.
  [[nodiscard]] constexpr std::size_t operand(std::size_t index) const { return first + 3 * index; }
  /// How many operands of codes a node with this many inputs has.
  [[nodiscard]] constexpr std::size_t count(std::size_t inputs) const {
    return operands != 0 ? operands : (inputs - std::min(inputs, first)) / 3;
  }
};

/// The node on values that a node on codes stands for: its operator, attributes and operands; alpha scales the bias
/// too. The bias, or addend, is not among its inputs.
[[nodiscard]] Node on_values(const Node& node, const QuantizedForm& form);
/// The form of an operator on codes, or null.
[[nodiscard]] const QuantizedForm* quantized_form(const Node& node);

/// Computes an operator on codes by its form. But for blocks, all operands have one scale and zero point each; a zero
/// point that is left out is 0. Errors   codes other than int8 and uint8; unsupported for attribute channels_last.
[[nodiscard]] Result<std::vector<Tensor>> run_quantized(const OpCall& call, const QuantizedForm& form);
/// Its shape rule.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_quantized(const ShapeCall& call, const QuantizedForm& form);

/// ONNX Runtime's operator `name` (docs/ContribOperators.md), computed by its form.
template <const QuantizedForm& form>
OpDef quantized_operator(std::string_view name, std::size_t min_inputs, std::size_t max_inputs) {
  return {.name = name,
          .last_opset = 1,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .run = [](const OpCall& call) { return run_quantized(call, form); },
          .infer = [](const ShapeCall& call) { return infer_quantized(call, form); },
          .domain = "com.microsoft",
          .quantized = &form};
}

}  // namespace assay::reference
