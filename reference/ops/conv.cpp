#include "reference/convolution.hpp"
#include "reference/op_checks.hpp"

namespace assay::reference {
namespace {

/// ONNX Conv-11: X, W, and B with one value for each output channel.
Result<std::vector<Tensor>> run(const OpCall& call) {
  core::Status status = require_real(call, 0);
  status = status ? require_same_type(call, 0, 1) : status;
  status = status ? require_same_type(call, 0, 2) : status;
  if (!status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<Convolution> conv = sliding_convolution(call.node, x.shape(), call.in(1).shape());
  if (!conv) {
    return conv.error();
  }
  if (status = check_channel_bias(call, 2, *conv); !status) {
    return status.error();
  }
  std::vector<double> y = convolve(*conv, x.reals(), call.in(1).reals());
  if (const Tensor* bias = call.optional_in(2)) {
    add_channel_bias<double>(*conv, bias->reals(), y);
  }
  return std::vector{Tensor(x.type(), conv->output_shape(), std::move(y))};
}

}  // namespace

const OpDef& op_conv() {
  static const OpDef def{.name = "Conv", .min_inputs = 2, .max_inputs = 3, .run = &run};
  return def;
}

}  // namespace assay::reference
