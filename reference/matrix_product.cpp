#include "reference/matrix_product.hpp"

#include <fmt/format.h>

#include "reference/arithmetic.hpp"
#include "reference/broadcast.hpp"
#include "reference/matmul_kernel.hpp"
#include "reference/op_checks.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// Calls `visit(a, b, c)` with the offsets of each pair of matrices and of their product.
template <typename Visit>
void for_each_pair(const MatrixProduct& p, const Visit& visit) {
  for_each_broadcast<2>(p.batch, {broadcast_strides(p.a_batch, p.batch), broadcast_strides(p.b_batch, p.batch)},
                        [&](std::int64_t position, const std::array<std::int64_t, 2>& matrix) {
                          visit(matrix[0] * p.rows * p.depth, matrix[1] * p.depth * p.columns,
                                position * p.rows * p.columns);
                        });
}

}  // namespace

Result<Dims> product_dims(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) {
    return op_error(fmt::format("operands {} and {}: a scalar has no matrix product", dims_text(a), dims_text(b)));
  }
  const bool a_is_vector = a.size() == 1;
  const bool b_is_vector = b.size() == 1;
  const Dimension& b_depth = b_is_vector ? b.back() : b[b.size() - 2];
  if (!may_equal(a.back(), b_depth)) {
    return op_error(fmt::format("operands {} and {}: {} columns don't match {} rows", dims_text(a), dims_text(b),
                                dim_text(a.back()), dim_text(b_depth)));
  }
  Result<Dims> output = broadcast_dims(Dims(a.begin(), a.end() - (a_is_vector ? 1 : 2)),
                                       Dims(b.begin(), b.end() - (b_is_vector ? 1 : 2)));
  if (!output) {
    return output;
  }
  if (!a_is_vector) {
    output->push_back(a[a.size() - 2]);
  }
  if (!b_is_vector) {
    output->push_back(b.back());
  }
  return output;
}

Result<std::vector<TensorFacts>> infer_product(const TensorFacts& a, const TensorFacts& b, DType type) {
  if (!a.shape || !b.shape) {
    return one(type, std::nullopt);
  }
  auto product = product_dims(*a.shape, *b.shape);
  if (!product) {
    return product.error();
  }
  return one(type, std::move(*product));
}

Result<MatrixProduct> matrix_product(const Shape& a, const Shape& b) {
  const Result<Dims> output = product_dims(dims_of(a), dims_of(b));
  if (!output) {
    return output.error();
  }
  const bool a_is_vector = a.size() == 1;
  const bool b_is_vector = b.size() == 1;
  MatrixProduct product;
  product.rows = a_is_vector ? 1 : a[a.size() - 2];
  product.depth = a.back();
  product.columns = b_is_vector ? 1 : b.back();
  product.a_batch.assign(a.begin(), a.end() - (a_is_vector ? 1 : 2));
  product.b_batch.assign(b.begin(), b.end() - (b_is_vector ? 1 : 2));
  product.output = *sizes(*output);
  product.batch.assign(product.output.begin(), product.output.end() - (a_is_vector ? 0 : 1) - (b_is_vector ? 0 : 1));
  if (const Result<std::int64_t> count = checked_count(product.output); !count) {
    return count.error();
  }
  return product;
}

std::vector<double> multiply(const MatrixProduct& product, std::span<const double> a, std::span<const double> b) {
  std::vector<double> c(at(core::element_count(product.output)), 0.0);
  for_each_pair(product, [&](std::int64_t a_first, std::int64_t b_first, std::int64_t c_first) {
    multiply_add(product.rows, product.columns, product.depth, {a.data() + a_first, product.depth},
                 {b.data() + b_first, product.columns}, {c.data() + c_first, product.columns});
  });
  return c;
}

std::vector<std::int64_t> multiply(const MatrixProduct& product, std::span<const std::int64_t> a,
                                   std::span<const std::int64_t> b) {
  std::vector<std::int64_t> c(at(core::element_count(product.output)), 0);
  for_each_pair(product, [&](std::int64_t a_first, std::int64_t b_first, std::int64_t c_first) {
    for (std::int64_t row = 0; row < product.rows; ++row) {
      for (std::int64_t k = 0; k < product.depth; ++k) {
        const std::int64_t factor = a[at(a_first + row * product.depth + k)];
        for (std::int64_t column = 0; column < product.columns; ++column) {
          std::int64_t& sum = c[at(c_first + row * product.columns + column)];
          sum = plus(sum, times(factor, b[at(b_first + k * product.columns + column)]));
        }
      }
    }
  });
  return c;
}

}  // namespace assay::reference
