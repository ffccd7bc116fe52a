#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX LpNormalization-1: x over its 1-norm or 2-norm along an axis. A line of zeros stays zero.
Result<std::vector<Tensor>> run_lp_normalization(const OpCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const std::int64_t p = call.node.int_or("p", 2);
  if (p != 1 && p != 2) {
    return op_error(fmt::format("p is {}, expected 1 or 2", p));
  }
  const Result<std::int64_t> axis = checked_axis(call.node.int_or("axis", -1), x.rank());
  if (!axis) {
    return axis.error();
  }
  const AxisSplit split = split_at_axis(x.shape(), *axis);
  std::vector<double> y(x.reals().begin(), x.reals().end());
  for (std::int64_t line = 0; line < split.outer * split.inner; ++line) {
    double* first = y.data() + (line / split.inner) * split.extent * split.inner + line % split.inner;
    double sum = 0.0;
    for (std::int64_t i = 0; i < split.extent; ++i) {
      const double value = first[i * split.inner];
      sum += p == 1 ? std::abs(value) : value * value;
    }
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (std::int64_t i = 0; i < split.extent && norm != 0.0; ++i) {
      first[i * split.inner] /= norm;
    }
  }
  return single_output(Tensor(x.type(), x.shape(), std::move(y)));
}

}  // namespace

const OpDef& op_lp_normalization() {
  static const OpDef def{.name = "LpNormalization", .run = &run_lp_normalization, .infer = &infer_same_along_axis};
  return def;
}

}  // namespace assay::reference
