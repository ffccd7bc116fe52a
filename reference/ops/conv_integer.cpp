#include "reference/convolution.hpp"
#include "reference/op_checks.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX ConvInteger-10: x, w, x_zero_point (one), w_zero_point (one, or one for each output channel). Padding stands
/// for x_zero_point, so that it adds nothing.
Result<std::vector<Tensor>> run_conv_integer(const OpCall& call) {
  if (const core::Status status = check_code_inputs(call); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const Result<Convolution> conv = sliding_convolution(call.node, x.shape(), w.shape());
  if (!conv) {
    return conv.error();
  }
  const auto x_zero_point = read_zero_points(call, 2, 1);
  if (!x_zero_point) {
    return x_zero_point.error();
  }
  const auto w_zero_point = read_zero_points(call, 3, conv->all_out_channels());
  if (!w_zero_point) {
    return w_zero_point.error();
  }
  std::vector<std::int64_t> y =
      convolve_plain(*conv, without_zero_point(x, 0, *x_zero_point), without_zero_point(w, 0, *w_zero_point));
  if (const core::Status status = check_accumulators(y); !status) {
    return status.error();
  }
  return std::vector{Tensor(DType::int32, conv->output_shape(), std::move(y))};
}

Result<Facts> infer_conv_integer(const ShapeCall& call) {
  core::Status status = check_code_inputs(call);
  status = status ? require_single(call, 2) : status;
  if (!status) {
    return status.error();
  }
  auto shape = sliding_output(call, 0, 1);
  if (!shape) {
    return shape.error();
  }
  if (status = require_single_or(call, 3, *shape ? (**shape)[1] : Dimension()); !status) {
    return status.error();
  }
  return one(DType::int32, std::move(*shape));
}

}  // namespace

const OpDef& op_conv_integer() {
  static const OpDef def{.name = "ConvInteger",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 4,
                         .run = &run_conv_integer,
                         .infer = &infer_conv_integer};
  return def;
}

}  // namespace assay::reference
