// BatchNormalization, InstanceNormalization, LayerNormalization, Softmax and LogSoftmax. Means, variances and sums run
// in float64.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

double real(const Buffer& buffer, std::int64_t index) { return static_cast<double>(buffer.data<float>()[index]); }

Result<Kernel> make_batch_normalization(const Binding& binding) {
  if (binding.node.int_or("training_mode", 0) != 0) return unsupported("BatchNormalization in training mode");
  const double epsilon = binding.node.float_or("epsilon", 1e-5);
  return Kernel([epsilon](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 5, DType::float32); !status) return status;
    const Buffer& x = call.input(0);
    if (x.rank() < 2) return invalid_data("the input must have a channel dimension");
    const std::int64_t channels = x.shape()[1];
    for (std::size_t i = 1; i < 5; ++i) {
      if (call.input(i).size() != channels) {
        return invalid_data(fmt::format("input {} has {} elements for {} channels", i, call.input(i).size(), channels));
      }
    }
    call.outputs[0] = Buffer(DType::float32, x.shape());
    const std::int64_t planes = x.shape()[0] * channels;
    const std::int64_t plane = planes == 0 ? 0 : x.size() / planes;
    const auto* in = x.data<float>();
    auto* out = call.outputs[0].data<float>();
    for (std::int64_t p = 0; p < planes; ++p) {
      const std::int64_t c = p % channels;
      const double factor = real(call.input(1), c) / std::sqrt(real(call.input(4), c) + epsilon);
      const double addend = real(call.input(2), c) - real(call.input(3), c) * factor;
      for (std::int64_t i = 0; i < plane; ++i, ++in) {
        *out++ = static_cast<float>(static_cast<double>(*in) * factor + addend);
      }
    }
    return core::success();
  });
}

struct Moments {
  double mean = 0;
  double inverse_deviation = 1;
};
Moments moments(const float* x, std::int64_t count, double epsilon) {
  Moments result;
  for (std::int64_t i = 0; i < count; ++i) result.mean += static_cast<double>(x[i]);
  result.mean /= static_cast<double>(count);
  double variance = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(x[i]) - result.mean;
    variance += distance * distance;
  }
  result.inverse_deviation = 1 / std::sqrt(variance / static_cast<double>(count) + epsilon);
  return result;
}

Result<Kernel> make_instance_normalization(const Binding& binding) {
  const double epsilon = binding.node.float_or("epsilon", 1e-5);
  return Kernel([epsilon](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 3, DType::float32); !status) return status;
    const Buffer& x = call.input(0);
    if (x.rank() < 3 || call.input(1).size() != x.shape()[1] || call.input(2).size() != x.shape()[1]) {
      return invalid_data(fmt::format("scale and bias do not fit the channels of {}", core::shape_text(x.shape())));
    }
    call.outputs[0] = Buffer(DType::float32, x.shape());
    const std::int64_t planes = x.shape()[0] * x.shape()[1];
    const std::int64_t plane = planes == 0 ? 0 : x.size() / planes;
    for (std::int64_t p = 0; p < planes; ++p) {
      const auto* in = x.data<float>() + p * plane;
      auto* out = call.outputs[0].data<float>() + p * plane;
      const Moments own = moments(in, plane, epsilon);
      const double factor = real(call.input(1), p % x.shape()[1]) * own.inverse_deviation;
      const double bias = real(call.input(2), p % x.shape()[1]);
      for (std::int64_t i = 0; i < plane; ++i) {
        out[i] = static_cast<float>((static_cast<double>(in[i]) - own.mean) * factor + bias);
      }
    }
    return core::success();
  });
}

Result<Kernel> make_layer_normalization(const Binding& binding) {
  const double epsilon = binding.node.float_or("epsilon", 1e-5);
  const std::int64_t axis = binding.node.int_or("axis", -1);
  return Kernel([epsilon, axis](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 2, DType::float32); !status) return status;
    const Buffer& x = call.input(0);
    const auto resolved = resolve_axis(axis, x.rank());
    if (!resolved) return resolved.error();
    const Shape normalized(x.shape().begin() + *resolved, x.shape().end());
    const std::int64_t count = core::element_count(normalized);
    const Buffer& scale = call.input(1);
    const Buffer* bias = call.has(2) ? &call.input(2) : nullptr;
    const auto fits = [&](const Buffer& parameter) { return parameter.size() == count || parameter.size() == 1; };
    if (!fits(scale) || (bias != nullptr && !fits(*bias))) {
      return invalid_data(fmt::format("scale and bias must have the {} normalized elements", count));
    }
    Shape outer = x.shape();
    std::fill(outer.begin() + *resolved, outer.end(), 1);
    call.outputs[0] = Buffer(DType::float32, x.shape());
    for (std::size_t i = 1; i < call.outputs.size(); ++i) call.outputs[i] = Buffer(DType::float32, outer);
    const std::int64_t rows = core::element_count(outer);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto* in = x.data<float>() + r * count;
      auto* out = call.outputs[0].data<float>() + r * count;
      const Moments own = moments(in, count, epsilon);
      for (std::int64_t i = 0; i < count; ++i) {
        const double normal = (static_cast<double>(in[i]) - own.mean) * own.inverse_deviation;
        const double factor = real(scale, scale.size() == 1 ? 0 : i);
        const double addend = bias == nullptr ? 0 : real(*bias, bias->size() == 1 ? 0 : i);
        out[i] = static_cast<float>(normal * factor + addend);
      }
      if (call.outputs.size() > 1) call.outputs[1].data<float>()[r] = static_cast<float>(own.mean);
      if (call.outputs.size() > 2) call.outputs[2].data<float>()[r] = static_cast<float>(own.inverse_deviation);
    }
    return core::success();
  });
}

/// Softmax over one axis (opset 13), or over everything from it on (before).
Result<Kernel> make_softmax(const Binding& binding) {
  const bool one_axis = binding.opset >= 13;
  const bool logarithm = binding.node.op_type == "LogSoftmax";
  const std::int64_t axis = binding.node.int_or("axis", one_axis ? -1 : 1);
  return Kernel([one_axis, logarithm, axis](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 1, DType::float32); !status) return status;
    const Buffer& x = call.input(0);
    const auto resolved = resolve_axis(axis, x.rank());
    if (!resolved) return resolved.error();
    const Shape after(x.shape().begin() + *resolved + 1, x.shape().end());
    const std::int64_t inner = one_axis ? core::element_count(after) : 1;
    const std::int64_t extent =
        x.shape()[static_cast<std::size_t>(*resolved)] * (one_axis ? 1 : core::element_count(after));
    call.outputs[0] = Buffer(DType::float32, x.shape());
    if (x.size() == 0) return core::success();
    std::vector<double> powers(static_cast<std::size_t>(extent));
    for (std::int64_t row = 0; row < x.size() / extent; ++row) {
      const std::int64_t first = row / inner * extent * inner + row % inner;
      const auto* in = x.data<float>() + first;
      auto* out = call.outputs[0].data<float>() + first;
      double largest = -HUGE_VAL;
      for (std::int64_t i = 0; i < extent; ++i) largest = std::max(largest, static_cast<double>(in[i * inner]));
      double sum = 0;
      for (std::int64_t i = 0; i < extent; ++i) {
        const double power = std::exp(static_cast<double>(in[i * inner]) - largest);
        powers[static_cast<std::size_t>(i)] = power;
        sum += power;
      }
      for (std::int64_t i = 0; i < extent; ++i) {
        const double value = logarithm ? static_cast<double>(in[i * inner]) - largest - std::log(sum)
                                       : powers[static_cast<std::size_t>(i)] / sum;
        out[i * inner] = static_cast<float>(value);
      }
    }
    return core::success();
  });
}

}  // namespace

void add_normalization_makers(MakerTable& table) {
  table["BatchNormalization"] = &make_batch_normalization;
  table["InstanceNormalization"] = &make_instance_normalization;
  table["LayerNormalization"] = &make_layer_normalization;
  table["Softmax"] = &make_softmax;
  table["LogSoftmax"] = &make_softmax;
}

}  // namespace assay::embedded::engine
