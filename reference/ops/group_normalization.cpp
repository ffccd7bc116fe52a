#include <fmt/format.h>

#include "reference/normalization.hpp"
#include "reference/op_checks.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX GroupNormalization-18 (scale and bias for each group) and -21 (for each channel): the channels of a group share
/// mean and variance.
Result<std::vector<Tensor>> run_group_normalization(const OpCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t groups = call.node.int_or("num_groups", 0);
  if (x.rank() < 3 || groups < 1 || x.shape()[1] % groups != 0) {
    return op_error(fmt::format("{} has shape {}, whose channels don't divide into num_groups {}", input_text(call, 0),
                                core::shape_text(x.shape()), groups));
  }
  return normalize_groups(call, groups, call.opset < 21 ? groups : x.shape()[1]);
}

Result<Facts> infer_group_normalization(const ShapeCall& call) {
  core::Status status = require_least_rank(call, 0, 3);
  const std::int64_t groups = call.node.int_or("num_groups", 0);
  const auto divides = divided(extent_of(call.in(0), 1), groups, "num_groups");
  if (!divides) {
    return divides.error();
  }
  for (std::size_t index = 1; index < 3; ++index) {
    status = status ? require_real(call, index) : status;
    status = status ? require_shape(call, index, {call.opset < 21 ? known(groups) : extent_of(call.in(0), 1)}) : status;
  }
  if (!status) {
    return status.error();
  }
  return infer_same_real(call);
}

}  // namespace

const OpDef& op_group_normalization() {
  static const OpDef def{.name = "GroupNormalization",
                         .first_opset = 18,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_group_normalization,
                         .infer = &infer_group_normalization};
  return def;
}

}  // namespace assay::reference
