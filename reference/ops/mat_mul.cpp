#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/matrix_product.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX MatMul-13, for floating-point and integer tensors; integers wrap into their type.
Result<std::vector<Tensor>> run_mat_mul(const OpCall& call) {
  if (const core::Status status = require_same_type(call, 0, 1); !status) {
    return status.error();
  }
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  const Result<MatrixProduct> product = matrix_product(a.shape(), b.shape());
  if (!product) {
    return product.error();
  }
  if (a.is_real()) {
    return single_output(Tensor(a.type(), product->output, multiply(*product, a.reals(), b.reals())));
  }
  std::vector<std::int64_t> sums = multiply(*product, a.integers(), b.integers());
  for (std::int64_t& sum : sums) {
    sum = wrap(sum, a.type());
  }
  return single_output(Tensor(a.type(), product->output, std::move(sums)));
}

Result<Facts> infer_mat_mul(const ShapeCall& call) {
  if (const core::Status status = require_same_type(call, 0, 1); !status) {
    return status.error();
  }
  return infer_product(call.in(0), call.in(1), call.in(0).type == DType::undefined ? call.in(1).type : call.in(0).type);
}

}  // namespace

const OpDef& op_mat_mul() {
  static const OpDef def{
      .name = "MatMul", .min_inputs = 2, .max_inputs = 2, .run = &run_mat_mul, .infer = &infer_mat_mul};
  return def;
}

}  // namespace assay::reference
