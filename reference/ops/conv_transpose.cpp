#include "reference/convolution.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX ConvTranspose-11: X, W of [C, M/group, k…], and B with one value for each output channel.
Result<std::vector<Tensor>> run_conv_transpose(const OpCall& call) {
  return run_real_convolution(call,
                              transposed_convolution(call.node, call.in(0).shape(), call.in(1).shape(), call.opset),
                              &convolve_transposed);
}

Result<Facts> infer_conv_transpose(const ShapeCall& call) {
  return infer_real_convolution(call, transposed_output(call));
}

}  // namespace

const OpDef& op_conv_transpose() {
  static const OpDef def{.name = "ConvTranspose",
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_conv_transpose,
                         .infer = &infer_conv_transpose};
  return def;
}

}  // namespace assay::reference
