#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/normalization.hpp"

namespace assay::reference {
namespace {

/// ONNX GroupNormalization-18 (scale and bias for each group) and -21 (for each channel): the channels of a group share
/// mean and variance.
Result<std::vector<Tensor>> run(const OpCall& call) {
  for (std::size_t index = 0; index < 3; ++index) {
    if (const core::Status status = require_real(call, index); !status) {
      return status.error();
    }
  }
  const Tensor& x = call.in(0);
  const std::int64_t groups = call.node.int_or("num_groups", 0);
  if (x.rank() < 3 || groups < 1 || x.shape()[1] % groups != 0) {
    return op_error(fmt::format("{} has shape {}, whose channels don't divide into num_groups {}", input_text(call, 0),
                                core::shape_text(x.shape()), groups));
  }
  const AxisSplit split = split_at_axis(x.shape(), 1);
  const std::int64_t channels_in_group = split.extent / groups;
  const std::int64_t parameters = call.opset < 21 ? groups : split.extent;
  for (std::size_t index = 1; index < 3; ++index) {
    if (call.in(index).shape() != Shape{parameters}) {
      return op_error(fmt::format("{} has shape {}, expected {} values", input_text(call, index),
                                  core::shape_text(call.in(index).shape()), parameters));
    }
  }
  const double epsilon = call.node.float_or("epsilon", 1e-5F);
  std::vector<double> y(x.reals().begin(), x.reals().end());
  const std::int64_t group_size = channels_in_group * split.inner;
  for (std::int64_t block = 0; block < split.outer * groups; ++block) {
    standardize(std::span(y).subspan(at(block * group_size), at(group_size)), epsilon);
  }
  for (std::int64_t plane = 0; plane < split.outer * split.extent; ++plane) {
    const std::int64_t channel = plane % split.extent;
    const std::size_t parameter = at(call.opset < 21 ? channel / channels_in_group : channel);
    for (double& value : std::span(y).subspan(at(plane * split.inner), at(split.inner))) {
      value = value * call.in(1).reals()[parameter] + call.in(2).reals()[parameter];
    }
  }
  return single_output(Tensor(x.type(), x.shape(), std::move(y)));
}

}  // namespace

const OpDef& op_group_normalization() {
  static const OpDef def{
      .name = "GroupNormalization", .first_opset = 18, .min_inputs = 3, .max_inputs = 3, .run = &run};
  return def;
}

}  // namespace assay::reference
