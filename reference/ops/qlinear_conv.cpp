#include <array>

#include "reference/convolution.hpp"
#include "reference/op_checks.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/quantized_form.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kBiasTypes{DType::int32};
enum Input : std::size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };
constexpr QuantizedForm kQLinearConv{.op = "Conv", .opset = 11, .operands = 2, .output = kYScale, .bias = kBias};

/// For the kernel and for the shape rule.
template <typename Call>
core::Status check_types(const Call& call) {
  core::Status status = require_type(call, kX, kByteTypes);
  status = status ? require_type(call, kW, kByteTypes) : status;
  status = status ? require_type(call, kYZero, kByteTypes) : status;
  status = status ? require_same_type(call, kX, kXZero) : status;
  status = status ? require_same_type(call, kW, kWZero) : status;
  return status && call.has_input(kBias) ? require_type(call, kBias, kBiasTypes) : status;
}

/// ONNX QLinearConv-10: weights may have a scale and zero_point for each output channel; the bias has scale
/// x_scale * w_scale and zero_point 0.
Result<std::vector<Tensor>> run_qlinear_conv(const OpCall& call) {
  if (const core::Status status = check_types(call); !status) {
    return status.error();
  }
  const Tensor& x = call.in(kX);
  const Tensor& w = call.in(kW);
  const Result<Convolution> conv = sliding_convolution(call.node, x.shape(), w.shape());
  if (!conv) {
    return conv.error();
  }
  const Result<QuantInputs> x_quant = read_quant_inputs(call, kXScale, kXZero, 1);
  const Result<QuantInputs> w_quant = read_quant_inputs(call, kWScale, kWZero, conv->all_out_channels());
  const Result<QuantInputs> y_quant = read_quant_inputs(call, kYScale, kYZero, 1);
  for (const auto* quant : {&x_quant, &w_quant, &y_quant}) {
    if (!*quant) {
      return quant->error();
    }
  }
  std::vector<std::int64_t> y = convolve_plain(*conv, without_zero_point(x, 0, x_quant->zero_point),
                                               without_zero_point(w, 0, w_quant->zero_point));
  core::Status status = check_channel_bias(call, kBias, *conv);
  if (const Tensor* bias = call.optional_in(kBias); bias != nullptr && status) {
    add_channel_bias<std::int64_t>(*conv, bias->integers(), y);
  }
  status = status ? check_accumulators(y) : status;
  if (!status) {
    return status.error();
  }
  const DType type = call.in(kYZero).type();
  const std::int64_t plane = volume(conv->windows.output);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
    const std::int64_t channel = i / plane % conv->all_out_channels();
    y[at(i)] = requantize(y[at(i)], x_quant->scale_at(0), w_quant->scale_at(channel), y_quant->scale_at(0),
                          y_quant->zero_point_at(0), type);
  }
  return std::vector{Tensor(type, conv->output_shape(), std::move(y))};
}

Result<Facts> infer_qlinear_conv(const ShapeCall& call) {
  core::Status status = check_types(call);
  for (const std::size_t single : {kXScale, kXZero, kYScale, kYZero}) {
    status = status ? require_single(call, single) : status;
  }
  if (!status) {
    return status.error();
  }
  auto shape = sliding_output(call, kX, kW);
  if (!shape) {
    return shape.error();
  }
  const Dimension channels = *shape ? (**shape)[1] : Dimension();
  status = require_single_or(call, kWScale, channels);
  status = status ? require_single_or(call, kWZero, channels) : status;
  status = status ? require_shape(call, kBias, {channels}) : status;
  if (!status) {
    return status.error();
  }
  return one(call.in(kYZero).type, std::move(*shape));
}

}  // namespace

const OpDef& op_qlinear_conv() {
  static const OpDef def{.name = "QLinearConv",
                         .first_opset = 10,
                         .min_inputs = 8,
                         .max_inputs = 9,
                         .run = &run_qlinear_conv,
                         .infer = &infer_qlinear_conv,
                         .quantized = &kQLinearConv};
  return def;
}

}  // namespace assay::reference
