#include "reference/quant_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/core/text.hpp"
#include "reference/op_checks.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

core::Status check_length(const OpCall& call, std::size_t index, std::int64_t extent) {
  const std::int64_t size = call.in(index).size();
  if (size != 1 && size != extent) {
    return op_error(fmt::format("{} has shape {}, expected 1 or {} values", input_text(call, index),
                                core::shape_text(call.in(index).shape()), extent));
  }
  return core::success();
}

}  // namespace

Result<std::vector<std::int64_t>> read_zero_points(const OpCall& call, std::size_t zero_point, std::int64_t extent) {
  if (!call.has_input(zero_point)) {
    return std::vector<std::int64_t>{0};
  }
  core::Status status = check_length(call, zero_point, extent);
  if (!status) {
    return status.error();
  }
  if (const Tensor& zero_points = call.in(zero_point); zero_points.is_real()) {
    const auto nonzero = std::ranges::find_if(zero_points.reals(), [](double value) { return value != 0.0; });
    if (nonzero != zero_points.reals().end()) {
      return op_unsupported(fmt::format("{} holds {}; the zero points of floating-point codes are 0",
                                        input_text(call, zero_point), core::exact_text64(*nonzero)));
    }
  }
  return call.in(zero_point).to_integers();
}

Result<Tensor> stored_scales(const OpCall& call, std::size_t scale, ScaleSign sign) {
  if (const core::Status status = require_real(call, scale); !status) return status.error();
  Tensor result = core::rounded_to_type(call.in(scale));
  const std::span<const double> values = std::as_const(result).reals();
  const bool positive = sign == ScaleSign::positive;
  const auto bad =
      std::ranges::find_if(values, [&](double value) { return !std::isfinite(value) || (positive && !(value > 0.0)); });
  if (bad == values.end()) return result;
  return op_error(fmt::format("{} holds the scale {} at index {}, expected finite {}scales", input_text(call, scale),
                              core::exact_text64(*bad), bad - values.begin(), positive ? "positive " : ""));
}

Result<QuantInputs> read_quant_inputs(const OpCall& call, std::size_t scale, std::size_t zero_point,
                                      std::int64_t extent, ScaleSign sign) {
  core::Status status = require_real(call, scale);
  status = status ? check_length(call, scale, extent) : status;
  if (!status) {
    return status.error();
  }
  const Result<Tensor> scales = stored_scales(call, scale, sign);
  if (!scales) {
    return scales.error();
  }
  QuantInputs result{.scale = scales->to_reals(), .zero_point = {}};
  Result<std::vector<std::int64_t>> zero_points = read_zero_points(call, zero_point, extent);
  if (!zero_points) {
    return zero_points.error();
  }
  result.zero_point = std::move(*zero_points);
  return result;
}

namespace {

template <typename Call>
core::Status check_codes(const Call& call) {
  core::Status status = require_type(call, 0, kByteTypes);
  status = status ? require_type(call, 1, kByteTypes) : status;
  status = status ? require_same_type(call, 0, 2) : status;
  return status ? require_same_type(call, 1, 3) : status;
}

}  // namespace

core::Status check_code_inputs(const OpCall& call) { return check_codes(call); }
core::Status check_code_inputs(const ShapeCall& call) { return check_codes(call); }

namespace {

Result<QuantLayout> blocked_layout(const OpCall& call, const Shape& shape, std::size_t scale, std::int64_t axis,
                                   std::int64_t block_size) {
  if (block_size < 0) return op_error(fmt::format("block_size is {}, expected at least 1", block_size));
  const QuantLayout layout{.split = split_at_axis(shape, axis), .block_size = block_size};
  Shape expected = shape;
  expected[at(axis)] = layout.blocks();
  if (call.in(scale).shape() != expected) {
    return op_error(fmt::format("{} has shape {}, expected {} for blocks of {} along axis {} of {}",
                                input_text(call, scale), core::shape_text(call.in(scale).shape()),
                                core::shape_text(expected), block_size, axis, core::shape_text(shape)));
  }
  return layout;
}

}  // namespace

Result<QuantLayout> quant_layout(const OpCall& call, const Shape& shape, std::size_t scale) {
  const Tensor& scales = call.in(scale);
  const std::int64_t block_size = call.node.int_or("block_size", 0);
  if (block_size == 0 && scales.rank() > 1) {
    return op_error(fmt::format("{} has shape {}, expected one scale or a list of scales", input_text(call, scale),
                                core::shape_text(scales.shape())));
  }
  if (call.has_input(scale + 1) && call.in(scale + 1).size() != scales.size()) {
    return op_error(fmt::format("{} has shape {}, but {} has {}; expected the same", input_text(call, scale + 1),
                                core::shape_text(call.in(scale + 1).shape()), input_text(call, scale),
                                core::shape_text(scales.shape())));
  }
  if (block_size == 0 && scales.size() == 1) {  // a list of one scale serves the whole tensor, whatever the axis
    return QuantLayout{.split = {.outer = 1, .extent = 1, .inner = core::element_count(shape)}};
  }
  if (call.node.domain.empty() && call.opset < 13) {
    return op_error(fmt::format("{} has {} scales; before opset 13 there is one for the whole tensor",
                                input_text(call, scale), scales.size()));
  }
  const Result<std::int64_t> axis = checked_axis(call.node.int_or("axis", 1), static_cast<std::int64_t>(shape.size()));
  if (!axis) {
    return axis.error();
  }
  if (block_size != 0) {
    return blocked_layout(call, shape, scale, *axis, block_size);
  }
  if (scales.size() != shape[at(*axis)]) {
    return op_error(fmt::format("{} has {} scales, but axis {} of {} has extent {}", input_text(call, scale),
                                scales.size(), *axis, core::shape_text(shape), shape[at(*axis)]));
  }
  return QuantLayout{.split = split_at_axis(shape, *axis)};
}

core::Status check_scales(const ShapeCall& call) {
  if (call.node.int_or("block_size", 0) != 0 || !call.in(1).shape) {
    return core::success();
  }
  if (call.in(1).shape->size() > 1) {
    return op_error(
        fmt::format("{} is {}, expected one scale or a list of scales", input_text(call, 1), facts_text(call.in(1))));
  }
  const Dimension scales = call.in(1).size();
  if (call.has_input(2) && !may_equal(call.in(2).size(), scales)) {
    return op_error(fmt::format("{} is {}, but {} is {}; expected the same shape", input_text(call, 2),
                                facts_text(call.in(2)), input_text(call, 1), facts_text(call.in(1))));
  }
  if (!call.in(0).shape || !scales.value || *scales.value == 1) {
    return core::success();
  }
  const Result<std::int64_t> axis = checked_axis(call.node.int_or("axis", 1), *call.in(0).rank());
  if (!axis) {
    return axis.error();
  }
  return require_single_or(call, 1, extent_of(call.in(0), at(*axis)));
}

std::vector<std::int64_t> without_zero_point(const Tensor& values, std::int64_t axis,
                                             const std::vector<std::int64_t>& zero_point) {
  const std::span<const std::int64_t> codes = values.integers();
  std::vector<std::int64_t> result(codes.begin(), codes.end());
  if (zero_point.size() == 1) {
    for (std::int64_t& value : result) {
      value -= zero_point.front();
    }
    return result;
  }
  const AxisSplit split = split_at_axis(values.shape(), axis);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(result.size()); ++i) {
    result[at(i)] -= zero_point[at(i / split.inner % split.extent)];
  }
  return result;
}

core::Status check_accumulators(std::span<const std::int64_t> accumulators) {
  const core::IntegerLimits limits = core::integer_limits(DType::int32);
  const auto outside = std::find_if(accumulators.begin(), accumulators.end(),
                                    [&](std::int64_t value) { return value < limits.low || value > limits.high; });
  if (outside != accumulators.end()) {
    return op_unsupported(
        fmt::format("the accumulator of output element {} is {}, which leaves 32 bits; the standard leaves the result "
                    "open there",
                    outside - accumulators.begin(), *outside));
  }
  return core::success();
}

}  // namespace assay::reference
