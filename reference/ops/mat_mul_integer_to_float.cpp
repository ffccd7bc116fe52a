#include <array>

#include "reference/dynamic_quantization.hpp"
#include "reference/matrix_product.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// For the kernel and for the shape rule.
template <typename Call>
core::Status check_types(const Call& call) {
  core::Status status = require_type(call, 0, kByteTypes);
  status = status ? require_type(call, 1, kByteTypes) : status;
  status = status ? require_real(call, 2) : status;
  status = status ? require_same_type(call, 2, 3) : status;
  status = status ? require_same_type(call, 0, 4) : status;
  status = status ? require_same_type(call, 1, 5) : status;
  return status ? require_same_type(call, 2, 6) : status;
}

/// ONNX Runtime's MatMulIntegerToFloat-1 (docs/ContribOperators.md). Inputs A, B, a_scale, b_scale, a_zero_point,
/// b_zero_point, bias; A has one scale and zero point.
Result<std::vector<Tensor>> run_mat_mul_integer_to_float(const OpCall& call) {
  if (const core::Status status = check_types(call); !status) return status.error();
  const Result<QuantInputs> quant = read_quant_inputs(call, 2, 4, 1);
  if (!quant) return quant.error();
  const Tensor& a = call.in(0);
  return product_of_codes(call, Tensor(DType::int32, a.shape(), without_zero_point(a, 0, quant->zero_point)),
                          quant->scale_at(0), 1, 3, 5, 6);
}

Result<Facts> infer_mat_mul_integer_to_float(const ShapeCall& call) {
  if (const core::Status status = check_types(call); !status) return status.error();
  return infer_product(call.in(0), call.in(1), call.in(2).type);
}

}  // namespace

const OpDef& op_mat_mul_integer_to_float() {
  static const OpDef def{.name = "MatMulIntegerToFloat",
                         .last_opset = 1,
                         .min_inputs = 4,
                         .max_inputs = 7,
                         .run = &run_mat_mul_integer_to_float,
                         .infer = &infer_mat_mul_integer_to_float,
                         .domain = "com.microsoft"};
  return def;
}

}  // namespace assay::reference
