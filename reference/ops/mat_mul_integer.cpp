#include "reference/arguments.hpp"
#include "reference/matrix_product.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX MatMulInteger-10: A, B, a_zero_point (one, or one for each row), b_zero_point (one, or one for each column).
Result<std::vector<Tensor>> run_mat_mul_integer(const OpCall& call) {
  if (const core::Status status = check_code_inputs(call); !status) {
    return status.error();
  }
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  const Result<MatrixProduct> product = matrix_product(a.shape(), b.shape());
  if (!product) {
    return product.error();
  }
  const auto a_zero_point = read_zero_points(call, 2, product->rows);
  if (!a_zero_point) {
    return a_zero_point.error();
  }
  const auto b_zero_point = read_zero_points(call, 3, product->columns);
  if (!b_zero_point) {
    return b_zero_point.error();
  }
  std::vector<std::int64_t> y = multiply(*product, without_zero_point(a, a.rank() - 2, *a_zero_point),
                                         without_zero_point(b, b.rank() - 1, *b_zero_point));
  if (const core::Status status = check_accumulators(y); !status) {
    return status.error();
  }
  return single_output(Tensor(DType::int32, product->output, std::move(y)));
}

Result<Facts> infer_mat_mul_integer(const ShapeCall& call) {
  core::Status status = check_code_inputs(call);
  if (!status) {
    return status.error();
  }
  return infer_product(call.in(0), call.in(1), DType::int32);
}

}  // namespace

const OpDef& op_mat_mul_integer() {
  static const OpDef def{.name = "MatMulInteger",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 4,
                         .run = &run_mat_mul_integer,
                         .infer = &infer_mat_mul_integer};
  return def;
}

}  // namespace assay::reference
