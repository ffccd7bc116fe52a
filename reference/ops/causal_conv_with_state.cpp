#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kX, kWeight, kBias, kPastState };

core::Status require_shape(const OpCall& call, std::size_t index, const Shape& shape) {
  if (!call.has_input(index) || (call.in(index).is_real() && call.in(index).shape() == shape)) return core::success();
  return op_error(fmt::format("{} is {}, expected the shape {}", input_text(call, index), tensor_text(call.in(index)),
                              core::shape_text(shape)));
}

// ONNX CausalConvWithState-27: y[n, c, t] = Σ_j w[c, 0, j] * padded[n, c, t + j] + bias[c], where k - 1 elements of
// past_state (zeros without) stand in front of x; then x * sigmoid(x) for activation silu or swish. Outputs y and the
// last k - 1 elements of `padded`.
Result<std::vector<Tensor>> run_causal_conv_with_state(const OpCall& call) {
  if (const auto real = require_real(call, kX); !real) return real.error();
  const Tensor& x = call.in(kX);
  const Tensor& weight = call.in(kWeight);
  if (x.rank() != 3 || weight.rank() != 3 || weight.shape()[2] < 1) {
    return op_error(fmt::format("input {} and weight {}, expected rank 3", tensor_text(x), tensor_text(weight)));
  }
  const std::int64_t batch = x.shape()[0];
  const std::int64_t channels = x.shape()[1];
  const std::int64_t length = x.shape()[2];
  const std::int64_t taps = weight.shape()[2];
  const Shape state_shape{batch, channels, taps - 1};
  core::Status status = require_shape(call, kWeight, {channels, 1, taps});
  status = status ? require_shape(call, kBias, {channels}) : status;
  status = status ? require_shape(call, kPastState, state_shape) : status;
  if (!status) return status.error();
  const std::string activation = call.node.string_or("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return op_error(fmt::format("activation is \"{}\", expected none, silu or swish", activation));
  }
  const Tensor zeros = Tensor::zeros(x.type(), state_shape);
  const Tensor* past = call.has_input(kPastState) ? call.optional_in(kPastState) : &zeros;
  const auto padded = concatenated({past, &x}, 2);
  if (!padded) return padded.error();
  std::vector<double> y;
  for (std::int64_t plane = 0; plane < batch * channels; ++plane) {
    const std::int64_t channel = plane % channels;
    const double* line = padded->reals().data() + plane * (taps - 1 + length);
    for (std::int64_t t = 0; t < length; ++t) {
      double sum = call.has_input(kBias) ? call.in(kBias).reals()[at(channel)] : 0.0;
      for (std::int64_t j = 0; j < taps; ++j) sum += weight.reals()[at(channel * taps + j)] * line[t + j];
      y.push_back(activation == "none" ? sum : sum / (1.0 + std::exp(-sum)));
    }
  }
  auto state = take_range(*padded, 2, length, taps - 1);
  if (!state) return state.error();
  return std::vector{Tensor(x.type(), x.shape(), std::move(y)), std::move(*state)};
}

Result<Facts> infer_causal_conv_with_state(const ShapeCall& call) {
  for (const std::size_t i : {kX, kWeight}) {
    if (const auto rank = require_rank(call, i, 3); !rank) return rank.error();
  }
  const TensorFacts& x = call.in(kX);
  const std::array taps{extent_of(call.in(kWeight), 2), known(-1)};
  return Facts{typed(x.type, x.shape), typed(x.type, Dims{extent_of(x, 0), extent_of(x, 1), sum(taps)})};
}

}  // namespace

const OpDef& op_causal_conv_with_state() {
  static const OpDef def{.name = "CausalConvWithState",
                         .first_opset = 27,
                         .min_inputs = 2,
                         .max_inputs = 4,
                         .run = &run_causal_conv_with_state,
                         .infer = &infer_causal_conv_with_state};
  return def;
}

}  // namespace assay::reference
