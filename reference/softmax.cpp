#include "reference/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

Result<AxisSplit> softmax_axis(const OpCall& call) {
  const Tensor& x = call.in(0);
  const bool flattens = call.opset < 13;
  const std::int64_t wanted = call.node.int_or("axis", flattens ? 1 : -1);
  if (flattens && wanted == x.rank()) {  // legal there: every element is a line of its own
    return AxisSplit{.outer = x.size(), .extent = 1, .inner = 1};
  }
  const Result<std::int64_t> axis = checked_axis(wanted, x.rank());
  if (!axis) {
    return axis.error();
  }
  AxisSplit split = split_at_axis(x.shape(), *axis);
  if (flattens) {
    split.extent *= split.inner;
    split.inner = 1;
  }
  return split;
}

Result<std::vector<Tensor>> softmax_lines(const OpCall& call, bool logarithm) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Result<AxisSplit> split = softmax_axis(call);
  if (!split) {
    return split.error();
  }
  return single_output(softmax_of(call.in(0), *split, logarithm));
}

Tensor softmax_of(const Tensor& x, const AxisSplit& lines, bool logarithm) {
  std::vector<double> y(x.reals().begin(), x.reals().end());
  const std::int64_t step = lines.inner;
  for (std::int64_t line = 0; line < lines.outer * step; ++line) {
    double* first = y.data() + (line / step) * lines.extent * step + line % step;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < lines.extent; ++i) {
      largest = std::max(largest, first[i * step]);
    }
    double sum = 0.0;
    for (std::int64_t i = 0; i < lines.extent; ++i) {
      first[i * step] -= largest;
      sum += std::exp(first[i * step]);
    }
    for (std::int64_t i = 0; i < lines.extent; ++i) {
      double& value = first[i * step];
      value = logarithm ? value - std::log(sum) : std::exp(value) / sum;
    }
  }
  return Tensor(x.type(), x.shape(), std::move(y));
}

Result<Facts> infer_softmax(const ShapeCall& call) {
  const bool flattens = call.opset < 13;
  const std::int64_t axis = call.node.int_or("axis", flattens ? 1 : -1);
  const auto rank = call.in(0).rank();
  if (rank && !(flattens && axis == *rank)) {
    if (const auto checked = checked_axis(axis, *rank); !checked) {
      return checked.error();
    }
  }
  return infer_same_real(call);
}

}  // namespace assay::reference
