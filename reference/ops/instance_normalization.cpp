#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/normalization.hpp"

namespace assay::reference {
namespace {

/// ONNX InstanceNormalization-6: each plane of each instance with its own mean and variance, then scale and bias of its
/// channel.
Result<std::vector<Tensor>> run(const OpCall& call) {
  for (std::size_t index = 0; index < 3; ++index) {
    if (const core::Status status = require_real(call, index); !status) {
      return status.error();
    }
  }
  const Tensor& x = call.in(0);
  if (x.rank() < 3) {
    return op_error(fmt::format("{} has shape {}, expected a batch, channels and at least one spatial axis",
                                input_text(call, 0), core::shape_text(x.shape())));
  }
  const AxisSplit split = split_at_axis(x.shape(), 1);
  for (std::size_t index = 1; index < 3; ++index) {
    if (call.in(index).shape() != Shape{split.extent}) {
      return op_error(fmt::format("{} has shape {}, expected one value for each of {} channels",
                                  input_text(call, index), core::shape_text(call.in(index).shape()), split.extent));
    }
  }
  const double epsilon = call.node.float_or("epsilon", 1e-5F);
  std::vector<double> y(x.reals().begin(), x.reals().end());
  for (std::int64_t plane = 0; plane < split.outer * split.extent; ++plane) {
    const std::span<double> values = std::span(y).subspan(at(plane * split.inner), at(split.inner));
    standardize(values, epsilon);
    const std::size_t channel = at(plane % split.extent);
    for (double& value : values) {
      value = value * call.in(1).reals()[channel] + call.in(2).reals()[channel];
    }
  }
  return single_output(Tensor(x.type(), x.shape(), std::move(y)));
}

}  // namespace

const OpDef& op_instance_normalization() {
  static const OpDef def{
      .name = "InstanceNormalization", .first_opset = 6, .min_inputs = 3, .max_inputs = 3, .run = &run};
  return def;
}

}  // namespace assay::reference
