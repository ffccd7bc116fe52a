#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

/// A checked product of two stacks of matrices, as numpy.matmul defines it.
struct MatrixProduct {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
  Shape a_batch;  ///< leading extents of the operands and of the result
  Shape b_batch;
  Shape batch;
  Shape output;  ///< shape of the result: a vector's added axis is taken away again
};

/// Shapes   [..., rows, depth] · [..., depth, columns], leading extents broadcast; a vector `a` counts as one row, a
///          vector `b` as one column.
/// Errors   a scalar, different depths, leading extents that don't broadcast.
[[nodiscard]] Result<MatrixProduct> matrix_product(const Shape& a, const Shape& b);

/// The shape of the result, as far as known, by the same rules.
[[nodiscard]] Result<Dims> product_dims(const Dims& a, const Dims& b);
/// The rule of a product whose result is of `type`; its shape is unknown where that of an operand is.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_product(const TensorFacts& a, const TensorFacts& b, DType type);

[[nodiscard]] std::vector<double> multiply(const MatrixProduct& product, std::span<const double> a,
                                           std::span<const double> b);
[[nodiscard]] std::vector<std::int64_t> multiply(const MatrixProduct& product, std::span<const std::int64_t> a,
                                                 std::span<const std::int64_t> b);

}  // namespace assay::reference
