#include <fmt/format.h>

#include "reference/normalization.hpp"
#include "reference/op_checks.hpp"

namespace assay::reference {
namespace {

/// ONNX GroupNormalization-18 (scale and bias for each group) and -21 (for each channel): the channels of a group share
/// mean and variance.
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t groups = call.node.int_or("num_groups", 0);
  if (x.rank() < 3 || groups < 1 || x.shape()[1] % groups != 0) {
    return op_error(fmt::format("{} has shape {}, whose channels don't divide into num_groups {}", input_text(call, 0),
                                core::shape_text(x.shape()), groups));
  }
  return normalize_groups(call, groups, call.opset < 21 ? groups : x.shape()[1]);
}

}  // namespace

const OpDef& op_group_normalization() {
  static const OpDef def{
      .name = "GroupNormalization", .first_opset = 18, .min_inputs = 3, .max_inputs = 3, .run = &run};
  return def;
}

}  // namespace assay::reference
