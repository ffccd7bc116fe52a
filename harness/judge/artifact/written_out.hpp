#pragma once

#include <memory>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// The artifact with every operator on codes (QLinearConv) as what it stands for: DequantizeLinear of its operands, the
/// operator on values, QuantizeLinear of the result; an operand in blocks (MatMulNBits) is unpacked, and the result
/// stays real. The same object where there is none. Codes keep their names unless they were packed, the
/// operator its node's; a product of dynamic codes (MatMulInteger, ConvInteger, with their Cast and Mul) keeps its
/// DynamicQuantizeLinear, and DequantizeLinear stands behind that; an int32 bias has the scale s_x·s_w by definition.
/// One whose scales aren't constant, whose zero points are no codes, or whose version the model's opset doesn't have,
/// stays. What a MatMulNBits adds is an Add's operand, or a Gemm's where it makes what a Gemm of `original` makes.
[[nodiscard]] std::shared_ptr<const model::Model> written_out(std::shared_ptr<const model::Model> artifact,
                                                              const model::Graph& original = {});

/// The node multiplies codes with codes, or is an operator on codes, and stayed one in what was written out.
[[nodiscard]] bool is_on_codes(const model::Node& node);

}  // namespace assay::judge
