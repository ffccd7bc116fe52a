#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// By Gaussian elimination with the largest pivot of each column.
double determinant(std::vector<double> m, std::int64_t n) {
  double result = 1.0;
  for (std::int64_t column = 0; column < n; ++column) {
    std::int64_t pivot = column;
    for (std::int64_t row = column + 1; row < n; ++row) {
      if (std::abs(m[at(row * n + column)]) > std::abs(m[at(pivot * n + column)])) pivot = row;
    }
    if (m[at(pivot * n + column)] == 0.0) return 0.0;
    if (pivot != column) {
      std::swap_ranges(m.begin() + pivot * n, m.begin() + (pivot + 1) * n, m.begin() + column * n);
      result = -result;
    }
    result *= m[at(column * n + column)];
    for (std::int64_t row = column + 1; row < n; ++row) {
      const double factor = m[at(row * n + column)] / m[at(column * n + column)];
      for (std::int64_t k = column; k < n; ++k) m[at(row * n + k)] -= factor * m[at(column * n + k)];
    }
  }
  return result;
}

// ONNX Det-22: the determinant of each square matrix in the last two axes.
Result<std::vector<Tensor>> run_det(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& x = call.in(0);
  const std::int64_t n = x.rank() < 2 ? -1 : x.shape().back();
  if (n < 0 || x.shape()[at(x.rank() - 2)] != n) {
    return op_error(fmt::format("input is {}, expected square matrices in the last two axes", tensor_text(x)));
  }
  const Shape batch(x.shape().begin(), x.shape().end() - 2);
  std::vector<double> y;
  for (std::int64_t matrix = 0; matrix < core::element_count(batch); ++matrix) {
    const auto elements = x.reals().subspan(at(matrix * n * n), at(n * n));
    y.push_back(determinant({elements.begin(), elements.end()}, n));
  }
  return single_output(Tensor(x.type(), batch, std::move(y)));
}

Result<Facts> infer_det(const ShapeCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  if (const auto rank = require_least_rank(call, 0, 2); !rank) return rank.error();
  const TensorFacts& x = call.in(0);
  if (!x.shape) return one(x.type, std::nullopt);
  const Dims batch(x.shape->begin(), x.shape->end() - 2);
  if (!may_equal(*(x.shape->end() - 2), x.shape->back())) return op_error(facts_text(x) + " holds no square matrices");
  return one(x.type, batch);
}

}  // namespace

const OpDef& op_det() {
  static const OpDef def{.name = "Det", .first_opset = 11, .run = &run_det, .infer = &infer_det};
  return def;
}

}  // namespace assay::reference
