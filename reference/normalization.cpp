#include "reference/normalization.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reference/op_checks.hpp"

namespace assay::reference {

double Moments::inverse_deviation(double epsilon) const { return 1.0 / std::sqrt(variance + epsilon); }

Moments moments(std::span<const double> values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    result.mean += value;
  }
  result.mean /= count;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean);
  }
  result.variance /= count;
  return result;
}

Moments standardize(std::span<double> values, double epsilon) {
  const Moments own = moments(values);
  const double deviation = std::sqrt(own.variance + epsilon);
  for (double& value : values) {
    value = (value - own.mean) / deviation;
  }
  return own;
}

Result<std::vector<Tensor>> normalize_groups(const OpCall& call, std::int64_t groups, std::int64_t parameters) {
  for (std::size_t index = 0; index < 3; ++index) {
    if (const core::Status status = require_real(call, index); !status) {
      return status.error();
    }
  }
  for (std::size_t index = 1; index < 3; ++index) {
    if (call.in(index).shape() != Shape{parameters}) {
      return op_error(fmt::format("{} has shape {}, expected {} values", input_text(call, index),
                                  core::shape_text(call.in(index).shape()), parameters));
    }
  }
  const Tensor& x = call.in(0);
  const AxisSplit split = split_at_axis(x.shape(), 1);
  const double epsilon = call.node.float_or("epsilon", static_cast<double>(1e-5F));
  std::vector<double> y(x.reals().begin(), x.reals().end());
  const std::int64_t group_size = groups == 0 ? 0 : split.extent / groups * split.inner;
  for (std::int64_t group = 0; group < split.outer * groups; ++group) {
    standardize(std::span(y).subspan(at(group * group_size), at(group_size)), epsilon);
  }
  for (std::int64_t plane = 0; plane < split.outer * split.extent; ++plane) {
    const std::size_t parameter = at(plane % split.extent * parameters / split.extent);
    for (double& value : std::span(y).subspan(at(plane * split.inner), at(split.inner))) {
      value = value * call.in(1).reals()[parameter] + call.in(2).reals()[parameter];
    }
  }
  return std::vector{Tensor(x.type(), x.shape(), std::move(y))};
}

}  // namespace assay::reference
