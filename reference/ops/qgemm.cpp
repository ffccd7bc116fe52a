#include <array>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/broadcast.hpp"
#include "reference/matrix_product.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/quantized_form.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kBiasTypes{DType::int32};
constexpr QuantizedForm kQGemm{.op = "Gemm", .opset = 13, .operands = 2, .output = 7, .bias = 6, .axis = 1};
enum Input : std::size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };

/// For the kernel and for the shape rule.
template <typename Call>
core::Status check_types(const Call& call) {
  core::Status status = require_type(call, kA, kByteTypes);
  status = status ? require_type(call, kB, kByteTypes) : status;
  status = status ? require_same_type(call, kA, kAZero) : status;
  status = status ? require_same_type(call, kB, kBZero) : status;
  status = status && call.has_input(kC) ? require_type(call, kC, kBiasTypes) : status;
  return status && call.has_input(kYZero) ? require_type(call, kYZero, kByteTypes) : status;
}

/// What is multiplied: codes without their zero points, transposed where the node says so.
Result<Tensor> factor(const OpCall& call, std::size_t index, std::int64_t axis, std::string_view transpose,
                      const std::vector<std::int64_t>& zero_point) {
  const Tensor& codes = call.in(index);
  if (codes.rank() != 2) return op_error(input_text(call, index) + " must be a matrix");
  const bool turned = call.node.int_or(transpose, 0) != 0;
  Tensor centred(DType::int32, codes.shape(), without_zero_point(codes, turned ? 1 - axis : axis, zero_point));
  return turned ? transposed(centred, {1, 0}) : centred;
}

/// ONNX Runtime's QGemm-1 (docs/ContribOperators.md): alpha · a_scale · b_scale · (A' · B' + C), quantized where
/// y_scale is there and float32 where it isn't. B may have a scale and zero_point for each column; C has the scale
/// a_scale · b_scale.
Result<std::vector<Tensor>> run_qgemm(const OpCall& call) {
  if (const core::Status status = check_types(call); !status) return status.error();
  const std::int64_t columns =
      call.in(kB).rank() == 2 ? call.in(kB).shape()[call.node.int_or("transB", 0) != 0 ? 0 : 1] : 1;
  const Result<QuantInputs> a_quant = read_quant_inputs(call, kAScale, kAZero, 1);
  if (!a_quant) return a_quant.error();
  const Result<QuantInputs> b_quant = read_quant_inputs(call, kBScale, kBZero, columns);
  if (!b_quant) return b_quant.error();
  const Result<Tensor> a = factor(call, kA, 0, "transA", a_quant->zero_point);
  if (!a) return a.error();
  const Result<Tensor> b = factor(call, kB, 1, "transB", b_quant->zero_point);
  if (!b) return b.error();
  const Result<MatrixProduct> product = matrix_product(a->shape(), b->shape());
  if (!product) return product.error();
  std::vector<std::int64_t> sums = multiply(*product, a->integers(), b->integers());
  if (const Tensor* bias = call.optional_in(kC); bias != nullptr) {
    const Result<Shape> joint = broadcast_shape(bias->shape(), product->output);
    if (!joint || *joint != product->output) {
      return op_error(input_text(call, kC) + " doesn't broadcast to the product's " +
                      core::shape_text(product->output));
    }
    for_each_broadcast<1>(product->output, {broadcast_strides(bias->shape(), product->output)},
                          [&](std::int64_t position, const std::array<std::int64_t, 1>& from) {
                            sums[at(position)] += bias->integers()[at(from[0])];
                          });
  }
  if (const core::Status status = check_accumulators(sums); !status) return status.error();
  const double scale = call.node.float_or("alpha", 1.0) * a_quant->scale_at(0);
  const auto column_of = [&](std::size_t i) { return static_cast<std::int64_t>(i) % product->columns; };
  if (!call.has_input(kYScale)) {
    std::vector<double> real(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      real[i] = static_cast<double>(sums[i]) * scale * b_quant->scale_at(column_of(i));
    }
    return single_output(Tensor(DType::float32, product->output, std::move(real)));
  }
  const Result<QuantInputs> y_quant = read_quant_inputs(call, kYScale, kYZero, 1);
  if (!y_quant) return y_quant.error();
  const DType type = call.has_input(kYZero) ? call.in(kYZero).type() : call.in(kA).type();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = requantize(sums[i], scale, b_quant->scale_at(column_of(i)), y_quant->scale_at(0),
                         y_quant->zero_point_at(0), type);
  }
  return single_output(Tensor(type, product->output, std::move(sums)));
}

Result<Facts> infer_qgemm(const ShapeCall& call) {
  if (const core::Status status = check_types(call); !status) return status.error();
  const auto dims_of_factor = [&](std::size_t index, std::string_view transpose) {
    Dims dims = call.in(index).shape.value_or(unknown_dims(2));
    if (dims.size() == 2 && call.node.int_or(transpose, 0) != 0) std::swap(dims[0], dims[1]);
    return dims;
  };
  for (const std::size_t matrix : {kA, kB}) {
    if (const core::Status status = require_rank(call, matrix, 2); !status) return status.error();
  }
  const auto product = product_dims(dims_of_factor(kA, "transA"), dims_of_factor(kB, "transB"));
  if (!product) return product.error();
  if (const core::Status status = require_broadcast_to(call, kC, *product); !status) return status.error();
  if (!call.has_input(kYScale)) return one(DType::float32, *product);
  return one(call.in(call.has_input(kYZero) ? kYZero : kA).type, *product);
}

}  // namespace

const OpDef& op_qgemm() {
  static const OpDef def{.name = "QGemm",
                         .last_opset = 1,
                         .min_inputs = 6,
                         .max_inputs = 9,
                         .run = &run_qgemm,
                         .infer = &infer_qgemm,
                         .domain = "com.microsoft",
                         .quantized = &kQGemm};
  return def;
}

}  // namespace assay::reference
