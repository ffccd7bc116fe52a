#include "reference/convolution.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX Conv-11: X, W, and B with one value for each output channel.
Result<std::vector<Tensor>> run_conv(const OpCall& call) {
  return run_real_convolution(call, sliding_convolution(call.node, call.in(0).shape(), call.in(1).shape()), &convolve);
}

Result<Facts> infer_conv(const ShapeCall& call) { return infer_real_convolution(call, sliding_output(call, 0, 1)); }

}  // namespace

const OpDef& op_conv() {
  static const OpDef def{.name = "Conv", .min_inputs = 2, .max_inputs = 3, .run = &run_conv, .infer = &infer_conv};
  return def;
}

}  // namespace assay::reference
