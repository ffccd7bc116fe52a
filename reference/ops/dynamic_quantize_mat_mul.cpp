#include <array>

#include "reference/dynamic_quantization.hpp"
#include "reference/matrix_product.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kFloatOperand{DType::float32};

/// For the kernel and for the shape rule.
template <typename Call>
core::Status check_types(const Call& call) {
  core::Status status = require_type(call, 0, kFloatOperand);
  status = status ? require_type(call, 1, kByteTypes) : status;
  status = status ? require_type(call, 2, kFloatOperand) : status;
  status = status ? require_same_type(call, 1, 3) : status;
  return status ? require_same_type(call, 0, 4) : status;
}

/// ONNX Runtime's DynamicQuantizeMatMul-1 (docs/ContribOperators.md): A as DynamicQuantizeLinear makes codes of it,
/// times B's codes, in real values. Inputs A, B, b_scale, b_zero_point, bias.
Result<std::vector<Tensor>> run_dynamic_quantize_mat_mul(const OpCall& call) {
  if (const core::Status status = check_types(call); !status) return status.error();
  auto a = quantize_dynamically(call, 0);
  if (!a) return a.error();
  for (std::int64_t& code : a->codes) code -= a->zero_point;
  return product_of_codes(call, Tensor(DType::int32, call.in(0).shape(), std::move(a->codes)), a->scale, 1, 2, 3, 4);
}

Result<Facts> infer_dynamic_quantize_mat_mul(const ShapeCall& call) {
  if (const core::Status status = check_types(call); !status) return status.error();
  return infer_product(call.in(0), call.in(1), DType::float32);
}

}  // namespace

const OpDef& op_dynamic_quantize_mat_mul() {
  static const OpDef def{.name = "DynamicQuantizeMatMul",
                         .last_opset = 1,
                         .min_inputs = 3,
                         .max_inputs = 5,
                         .run = &run_dynamic_quantize_mat_mul,
                         .infer = &infer_dynamic_quantize_mat_mul,
                         .domain = "com.microsoft"};
  return def;
}

}  // namespace assay::reference
