#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/normalization.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kX, kScale, kBias, kMean, kVar };

core::Status check_parameters(const OpCall& call, std::int64_t channels) {
  for (std::size_t index = kScale; index <= kVar; ++index) {
    if (core::Status status = require_real(call, index); !status) {
      return status;
    }
    if (call.in(index).shape() != Shape{channels}) {
      return op_error(fmt::format("{} has shape {}, expected one value for each of {} channels",
                                  input_text(call, index), core::shape_text(call.in(index).shape()), channels));
    }
  }
  return core::success();
}

/// Mean and population variance of each channel of the batch itself.
std::vector<Moments> batch_moments(const Tensor& x, const AxisSplit& split) {
  std::vector<Moments> moments;
  for (std::int64_t channel = 0; channel < split.extent; ++channel) {
    std::vector<double> values;
    for (std::int64_t batch = 0; batch < split.outer; ++batch) {
      const auto block = x.reals().subspan(at((batch * split.extent + channel) * split.inner), at(split.inner));
      values.insert(values.end(), block.begin(), block.end());
    }
    moments.push_back(reference::moments(values));
  }
  return moments;
}

/// ONNX BatchNormalization-15: (x - mean) / sqrt(var + epsilon) * scale + bias, along axis 1 (a vector counts as one
/// channel). With training_mode (opset 14) mean and variance are the batch's own, and outputs 1 and 2 are those given,
/// moved towards them: given * momentum + own * (1 - momentum).
Result<std::vector<Tensor>> run_batch_normalization(const OpCall& call) {
  if (call.node.int_or("spatial", 1) == 0) {
    return op_unsupported("spatial 0 (a mean and variance for each element)");
  }
  core::Status status = require_real(call, kX);
  const Tensor& x = call.in(kX);
  if (status && x.rank() == 0) {
    status = op_error("the input is a scalar, expected a batch of channels");
  }
  const AxisSplit split =
      x.rank() < 2 ? AxisSplit{.outer = x.size(), .extent = 1, .inner = 1} : split_at_axis(x.shape(), 1);
  status = status ? check_parameters(call, split.extent) : status;
  if (!status) {
    return status.error();
  }
  const bool training = call.node.int_or("training_mode", 0) != 0;
  std::vector<Moments> moments;
  if (training) {
    moments = batch_moments(x, split);
  } else {
    for (std::size_t channel = 0; channel < at(split.extent); ++channel) {
      moments.push_back({.mean = call.in(kMean).reals()[channel], .variance = call.in(kVar).reals()[channel]});
    }
  }
  const double epsilon = call.node.float_or("epsilon", static_cast<double>(1e-5F));
  std::vector<double> y(x.reals().begin(), x.reals().end());
  for (std::int64_t block = 0; block < split.outer * split.extent; ++block) {
    const std::size_t channel = at(block % split.extent);
    const double mean = moments[channel].mean;
    const double deviation = std::sqrt(moments[channel].variance + epsilon);
    const double scale = call.in(kScale).reals()[channel];
    const double bias = call.in(kBias).reals()[channel];
    for (std::int64_t i = block * split.inner; i < (block + 1) * split.inner; ++i) {
      y[at(i)] = (y[at(i)] - mean) / deviation * scale + bias;
    }
  }
  std::vector<Tensor> outputs{Tensor(x.type(), x.shape(), std::move(y))};
  if (training) {
    const double momentum = call.node.float_or("momentum", static_cast<double>(0.9F));
    std::vector<double> means = call.in(kMean).to_reals();
    std::vector<double> variances = call.in(kVar).to_reals();
    for (std::size_t channel = 0; channel < moments.size(); ++channel) {
      means[channel] = means[channel] * momentum + moments[channel].mean * (1.0 - momentum);
      variances[channel] = variances[channel] * momentum + moments[channel].variance * (1.0 - momentum);
    }
    outputs.emplace_back(call.in(kMean).type(), call.in(kMean).shape(), std::move(means));
    outputs.emplace_back(call.in(kVar).type(), call.in(kVar).shape(), std::move(variances));
  }
  return outputs;
}

Result<Facts> infer_batch_normalization(const ShapeCall& call) {
  core::Status status = require_real(call, kX);
  status = status ? require_least_rank(call, kX, 1) : status;
  const TensorFacts& x = call.in(kX);
  const Dimension channels = x.shape && x.shape->size() < 2 ? known(1) : extent_of(x, 1);
  for (std::size_t index = kScale; index <= kVar; ++index) {
    status = status ? require_real(call, index) : status;
    status = status ? require_shape(call, index, {channels}) : status;
  }
  if (!status) {
    return status.error();
  }
  Facts outputs{typed(x.type, x.shape)};
  for (std::size_t i = 1; i < call.node.outputs.size(); ++i) {  // running and saved statistics
    outputs.push_back(typed(call.in(kMean).type, Dims{channels}));
  }
  return outputs;
}

}  // namespace

const OpDef& op_batch_normalization() {
  static const OpDef def{.name = "BatchNormalization",
                         .first_opset = 7,
                         .min_inputs = 5,
                         .max_inputs = 5,
                         .run = &run_batch_normalization,
                         .infer = &infer_batch_normalization};
  return def;
}

}  // namespace assay::reference
