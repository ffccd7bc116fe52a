#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/broadcast.hpp"
#include "reference/matrix_product.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

Result<Tensor> operand(const OpCall& call, std::size_t index, std::string_view transpose) {
  if (const core::Status status = require_real(call, index); !status) {
    return status.error();
  }
  const Tensor& matrix = call.in(index);
  if (matrix.rank() != 2) {
    return op_error(
        fmt::format("{} has shape {}, expected a matrix", input_text(call, index), core::shape_text(matrix.shape())));
  }
  return call.node.int_or(transpose, 0) != 0 ? transposed(matrix, {1, 0}) : matrix;
}

/// y += beta * c, where c broadcasts to y's shape (and y not to c's).
core::Status add_bias(const OpCall& call, double beta, const Shape& shape, std::vector<double>& y) {
  core::Status status = require_real(call, 2);
  if (!status) {
    return status;
  }
  const Tensor& c = call.in(2);
  const Result<Shape> joint = broadcast_shape(c.shape(), shape);
  if (!joint || *joint != shape) {
    return op_error(fmt::format("{} has shape {}, which doesn't broadcast to the product's {}", input_text(call, 2),
                                core::shape_text(c.shape()), core::shape_text(shape)));
  }
  for_each_broadcast<1>(shape, {broadcast_strides(c.shape(), shape)},
                        [&](std::int64_t position, const std::array<std::int64_t, 1>& from) {
                          y[at(position)] += beta * c.reals()[at(from[0])];
                        });
  return status;
}

/// ONNX Gemm-13: alpha * A' * B' + beta * C.
Result<std::vector<Tensor>> run_gemm(const OpCall& call) {
  const Result<Tensor> a = operand(call, 0, "transA");
  if (!a) {
    return a.error();
  }
  const Result<Tensor> b = operand(call, 1, "transB");
  if (!b) {
    return b.error();
  }
  const Result<MatrixProduct> product = matrix_product(a->shape(), b->shape());
  if (!product) {
    return product.error();
  }
  std::vector<double> y = multiply(*product, a->reals(), b->reals());
  const double alpha = call.node.float_or("alpha", 1.0);
  for (double& value : y) {
    value *= alpha;
  }
  if (call.has_input(2)) {
    if (const core::Status status = add_bias(call, call.node.float_or("beta", 1.0), product->output, y); !status) {
      return status.error();
    }
  }
  return single_output(Tensor(call.in(0).type(), product->output, std::move(y)));
}

/// The shape of a matrix operand as it is multiplied; unknown extents where its rank is not known.
Result<Dims> operand_dims(const ShapeCall& call, std::size_t index, std::string_view transpose) {
  core::Status status = require_real(call, index);
  status = status ? require_rank(call, index, 2) : status;
  if (!status) {
    return status.error();
  }
  Dims dims = call.in(index).shape.value_or(unknown_dims(2));
  if (call.node.int_or(transpose, 0) != 0) {
    std::swap(dims[0], dims[1]);
  }
  return dims;
}

Result<Facts> infer_gemm(const ShapeCall& call) {
  const auto a = operand_dims(call, 0, "transA");
  if (!a) {
    return a.error();
  }
  const auto b = operand_dims(call, 1, "transB");
  if (!b) {
    return b.error();
  }
  const auto product = product_dims(*a, *b);
  if (!product) {
    return product.error();
  }
  core::Status status = require_one_type(call, 3);
  status = status ? require_broadcast_to(call, 2, *product) : status;
  if (!status) {
    return status.error();
  }
  return one(call.in(0).type, *product);
}

}  // namespace

const OpDef& op_gemm() {
  static const OpDef def{
      .name = "Gemm", .first_opset = 7, .min_inputs = 2, .max_inputs = 3, .run = &run_gemm, .infer = &infer_gemm};
  return def;
}

}  // namespace assay::reference
