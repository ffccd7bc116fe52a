// MatMul and Gemm in float32. A constant right operand is packed once as the rows of the transposed product.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "converters/embedded/engine/geometry.hpp"
#include "converters/embedded/engine/matrix.hpp"
#include "converters/embedded/engine/product.hpp"

namespace assay::embedded::engine {

Result<MatMulShape> bind_matmul(const Shape& left, const Shape& right) {
  const auto misfit = [&] {
    return invalid_data(
        fmt::format("shapes {} and {} do not multiply", core::shape_text(left), core::shape_text(right)));
  };
  if (left.empty() || right.empty()) return misfit();
  MatMulShape shape;
  shape.depth = left.back();
  shape.rows = left.size() == 1 ? 1 : left[left.size() - 2];
  shape.columns = right.size() == 1 ? 1 : right.back();
  if ((right.size() == 1 ? right.front() : right[right.size() - 2]) != shape.depth) return misfit();
  const Shape left_batches(left.begin(), left.end() - std::min<std::ptrdiff_t>(2, std::ssize(left)));
  const Shape right_batches(right.begin(), right.end() - std::min<std::ptrdiff_t>(2, std::ssize(right)));
  const std::array<const Shape*, 2> batches{&left_batches, &right_batches};
  const auto walk = Broadcast::of(batches);
  if (!walk) return misfit();
  shape.out = walk->shape();
  walk->for_each_row([&](std::int64_t, const std::int64_t* offsets) {
    for (std::int64_t i = 0; i < walk->row_length(); ++i) {
      shape.left_batch.push_back(offsets[0] + i * walk->step(0));
      shape.right_batch.push_back(offsets[1] + i * walk->step(1));
    }
  });
  if (left.size() > 1) shape.out.push_back(shape.rows);
  if (right.size() > 1) shape.out.push_back(shape.columns);
  // One right matrix for all batches: the batches are just more rows.
  if (right_batches.empty() && !shape.left_batch.empty()) {
    shape.rows *= std::ssize(shape.left_batch);
    shape.left_batch = {0};
    shape.right_batch = {0};
  }
  return shape;
}

GemmAttributes read_gemm_attributes(const Node& node) {
  return {node.int_or("transA", 0) != 0, node.int_or("transB", 0) != 0, node.float_or("alpha", 1),
          node.float_or("beta", 1)};
}

Result<MatMulShape> bind_gemm(const GemmAttributes& attributes, const Shape& left, const Shape& right) {
  if (left.size() != 2 || right.size() != 2) {
    return invalid_data(
        fmt::format("Gemm takes matrices, not {} and {}", core::shape_text(left), core::shape_text(right)));
  }
  MatMulShape shape;
  shape.rows = left[attributes.left_transposed ? 1 : 0];
  shape.depth = left[attributes.left_transposed ? 0 : 1];
  shape.columns = right[attributes.right_transposed ? 0 : 1];
  if (right[attributes.right_transposed ? 1 : 0] != shape.depth) {
    return invalid_data(fmt::format("Gemm's operands {} and {} do not share their inner extent", core::shape_text(left),
                                    core::shape_text(right)));
  }
  shape.left_batch = shape.right_batch = {0};
  shape.out = {shape.rows, shape.columns};
  return shape;
}

namespace {

/// out[row, column] of left [rows, depth] times what `right` has packed, [columns, depth].
void multiply_packed_right(const MatrixView<float>& left, const FloatRows& right, float* out) {
  const std::int64_t columns = right.rows();
  multiply_float(right, left.transposed(), left.rows,
                 [&](std::int64_t column, std::int64_t count, std::int64_t first, std::int64_t rows, const float* sums,
                     std::int64_t stride) {
                   for (std::int64_t c = 0; c < count; ++c) {
                     for (std::int64_t r = 0; r < rows; ++r)
                       out[(first + r) * columns + column + c] = sums[c * stride + r];
                   }
                 });
}

void multiply_packed_left(const FloatRows& left, const MatrixView<float>& right, float* out) {
  multiply_float(left, right, right.columns,
                 [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count, const float* sums,
                     std::int64_t stride) {
                   for (std::int64_t r = 0; r < rows; ++r) {
                     std::copy_n(sums + r * stride, count, out + (row + r) * right.columns + first);
                   }
                 });
}

Result<Kernel> make_matmul(const Binding& binding) {
  std::shared_ptr<const FloatRows> packed;
  const Buffer* weight = binding.constant(1);
  if (weight != nullptr && weight->type() == DType::float32 && weight->rank() == 2) {
    const std::int64_t depth = weight->shape()[0];
    const std::int64_t columns = weight->shape()[1];
    packed = std::make_shared<const FloatRows>(MatrixView<float>{weight->data<float>(), columns, depth, 1, columns});
  }
  return Kernel([packed](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 2, DType::float32); !status) return status;
    auto shape = bind_matmul(call.input(0).shape(), call.input(1).shape());
    if (!shape) return shape.error();
    call.outputs[0] = Buffer(DType::float32, shape->out);
    auto* out = call.outputs[0].data<float>();
    for (std::size_t i = 0; i < shape->left_batch.size(); ++i) {
      const MatrixView<float> left{call.input(0).data<float>() + shape->left_batch[i] * shape->rows * shape->depth,
                                   shape->rows, shape->depth, shape->depth, 1};
      const MatrixView<float> right{call.input(1).data<float>() + shape->right_batch[i] * shape->depth * shape->columns,
                                    shape->depth, shape->columns, shape->columns, 1};
      float* target = out + static_cast<std::int64_t>(i) * shape->rows * shape->columns;
      if (packed) {
        multiply_packed_right(left, *packed, target);
      } else {
        multiply_packed_left(FloatRows(left), right, target);
      }
    }
    return core::success();
  });
}

MatrixView<float> oriented(const Buffer& matrix, bool transposed) {
  const MatrixView<float> view{matrix.data<float>(), matrix.shape()[0], matrix.shape()[1], matrix.shape()[1], 1};
  return transposed ? view.transposed() : view;
}

Result<Kernel> make_gemm(const Binding& binding) {
  const GemmAttributes attributes = read_gemm_attributes(binding.node);
  std::shared_ptr<const FloatRows> packed;
  const Buffer* weight = binding.constant(1);
  if (weight != nullptr && weight->type() == DType::float32 && weight->rank() == 2) {
    packed = std::make_shared<const FloatRows>(oriented(*weight, !attributes.right_transposed));
  }
  return Kernel([packed, attributes](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 2, DType::float32); !status) return status;
    auto shape = bind_gemm(attributes, call.input(0).shape(), call.input(1).shape());
    if (!shape) return shape.error();
    call.outputs[0] = Buffer(DType::float32, shape->out);
    auto* out = call.outputs[0].data<float>();
    const MatrixView<float> left = oriented(call.input(0), attributes.left_transposed);
    if (packed) {
      multiply_packed_right(left, *packed, out);
    } else {
      multiply_packed_left(FloatRows(left), oriented(call.input(1), attributes.right_transposed), out);
    }
    const auto alpha = static_cast<float>(attributes.alpha);
    if (alpha != 1.0F) {
      for (std::int64_t i = 0; i < call.outputs[0].size(); ++i) out[i] *= alpha;
    }
    if (!call.has(2)) return core::success();
    const std::array<const Shape*, 2> shapes{&shape->out, &call.input(2).shape()};
    auto walk = Broadcast::of(shapes);
    if (!walk) return walk.error();
    if (walk->shape() != shape->out) return invalid_data("C does not broadcast to Gemm's result");
    const auto beta = static_cast<float>(attributes.beta);
    const auto* bias = call.input(2).data<float>();
    walk->for_each_row([&](std::int64_t row, const std::int64_t* offsets) {
      for (std::int64_t i = 0; i < walk->row_length(); ++i) out[row + i] += beta * bias[offsets[1] + i * walk->step(1)];
    });
    return core::success();
  });
}

}  // namespace

void add_matmul_makers(MakerTable& table) {
  table["MatMul"] = &make_matmul;
  table["Gemm"] = &make_gemm;
}

}  // namespace assay::embedded::engine
