#pragma once

#include <cstdint>
#include <vector>

#include "converters/embedded/engine/kernel.hpp"

namespace assay::embedded::engine {

/// Extents of a MatMul after ONNX's (numpy's) rules: batches broadcast, a vector counts as a row or a column.
struct MatMulShape {
  std::int64_t rows = 1;
  std::int64_t depth = 1;
  std::int64_t columns = 1;
  /// For each product, its index into the batches of either operand.
  std::vector<std::int64_t> left_batch, right_batch;
  Shape out;
};

/// Errors   invalid_data with both shapes.
[[nodiscard]] Result<MatMulShape> bind_matmul(const Shape& left, const Shape& right);

/// Gemm's attributes and the extents of its (maybe transposed) operands.
struct GemmAttributes {
  bool left_transposed = false;
  bool right_transposed = false;
  double alpha = 1;
  double beta = 1;
};
[[nodiscard]] GemmAttributes read_gemm_attributes(const Node& node);
[[nodiscard]] Result<MatMulShape> bind_gemm(const GemmAttributes& attributes, const Shape& left, const Shape& right);

}  // namespace assay::embedded::engine
