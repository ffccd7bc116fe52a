#include <array>

#include "reference/arguments.hpp"
#include "reference/matrix_product.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/quantized_form.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };
constexpr QuantizedForm kQLinearMatMul{.op = "MatMul", .opset = 13, .operands = 2, .output = kYScale, .axis = -1};

/// For the kernel and for the shape rule.
template <typename Call>
core::Status check_types(const Call& call) {
  core::Status status = require_type(call, kA, kByteTypes);
  status = status ? require_type(call, kB, kByteTypes) : status;
  status = status ? require_type(call, kYZero, kByteTypes) : status;
  status = status ? require_same_type(call, kA, kAZero) : status;
  return status ? require_same_type(call, kB, kBZero) : status;
}

/// ONNX QLinearMatMul-21: a may have a scale and zero_point for each row, b for each column, y for each row.
Result<std::vector<Tensor>> run_qlinear_mat_mul(const OpCall& call) {
  if (const core::Status status = check_types(call); !status) {
    return status.error();
  }
  const Tensor& a = call.in(kA);
  const Tensor& b = call.in(kB);
  const Result<MatrixProduct> product = matrix_product(a.shape(), b.shape());
  if (!product) {
    return product.error();
  }
  const Result<QuantInputs> a_quant = read_quant_inputs(call, kAScale, kAZero, product->rows);
  const Result<QuantInputs> b_quant = read_quant_inputs(call, kBScale, kBZero, product->columns);
  const Result<QuantInputs> y_quant = read_quant_inputs(call, kYScale, kYZero, product->rows);
  for (const auto* quant : {&a_quant, &b_quant, &y_quant}) {
    if (!*quant) {
      return quant->error();
    }
  }
  std::vector<std::int64_t> y = multiply(*product, without_zero_point(a, a.rank() - 2, a_quant->zero_point),
                                         without_zero_point(b, b.rank() - 1, b_quant->zero_point));
  if (const core::Status status = check_accumulators(y); !status) {
    return status.error();
  }
  const DType type = call.in(kYZero).type();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
    const std::int64_t row = i / product->columns % product->rows;
    y[at(i)] = requantize(y[at(i)], a_quant->scale_at(row), b_quant->scale_at(i % product->columns),
                          y_quant->scale_at(row), y_quant->zero_point_at(row), type);
  }
  return single_output(Tensor(type, product->output, std::move(y)));
}

Result<Facts> infer_qlinear_mat_mul(const ShapeCall& call) {
  if (const core::Status status = check_types(call); !status) {
    return status.error();
  }
  return infer_product(call.in(kA), call.in(kB), call.in(kYZero).type);
}

}  // namespace

const OpDef& op_qlinear_mat_mul() {
  static const OpDef def{.name = "QLinearMatMul",
                         .first_opset = 10,
                         .min_inputs = 8,
                         .max_inputs = 8,
                         .run = &run_qlinear_mat_mul,
                         .infer = &infer_qlinear_mat_mul,
                         .quantized = &kQLinearMatMul};
  return def;
}

}  // namespace assay::reference
