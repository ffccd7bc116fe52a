#include <array>

#include "reference/dynamic_quantization.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kInputTypes{DType::float32};

/// ONNX DynamicQuantizeLinear-11. Outputs y, y_scale, y_zero_point.
Result<std::vector<Tensor>> run_dynamic_quantize_linear(const OpCall& call) {
  auto quantized = quantize_dynamically(call, 0);
  if (!quantized) return quantized.error();
  return std::vector{Tensor(DType::uint8, call.in(0).shape(), std::move(quantized->codes)),
                     Tensor(DType::float32, Shape{}, std::vector{quantized->scale}),
                     Tensor(DType::uint8, Shape{}, std::vector{quantized->zero_point})};
}

Result<Facts> infer_dynamic_quantize_linear(const ShapeCall& call) {
  if (const core::Status status = require_type(call, 0, kInputTypes); !status) {
    return status.error();
  }
  return Facts{typed(DType::uint8, call.in(0).shape), typed(DType::float32, Dims()), typed(DType::uint8, Dims())};
}

}  // namespace

const OpDef& op_dynamic_quantize_linear() {
  static const OpDef def{.name = "DynamicQuantizeLinear",
                         .first_opset = 11,
                         .run = &run_dynamic_quantize_linear,
                         .infer = &infer_dynamic_quantize_linear};
  return def;
}

}  // namespace assay::reference
