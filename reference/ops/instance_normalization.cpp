#include "reference/normalization.hpp"
#include "reference/shape_rules.hpp"
#include "reference/windows.hpp"

namespace assay::reference {
namespace {

/// ONNX InstanceNormalization-6: each plane of each instance with its own mean and variance, then scale and bias of its
/// channel.
Result<std::vector<Tensor>> run_instance_normalization(const OpCall& call) {
  if (const core::Status status = require_spatial_axes(call); !status) {
    return status.error();
  }
  const std::int64_t channels = call.in(0).shape()[1];
  return normalize_groups(call, channels, channels);
}

Result<Facts> infer_instance_normalization(const ShapeCall& call) {
  core::Status status = require_spatial_axes(call);
  for (std::size_t index = 1; index < 3; ++index) {
    status = status ? require_real(call, index) : status;
    status = status ? require_shape(call, index, {extent_of(call.in(0), 1)}) : status;
  }
  if (!status) {
    return status.error();
  }
  return infer_same_real(call);
}

}  // namespace

const OpDef& op_instance_normalization() {
  static const OpDef def{.name = "InstanceNormalization",
                         .first_opset = 6,
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_instance_normalization,
                         .infer = &infer_instance_normalization};
  return def;
}

}  // namespace assay::reference
