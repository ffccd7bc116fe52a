#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/broadcast.hpp"
#include "reference/normalization.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

core::Status check_parameter(const OpCall& call, std::size_t index) {
  if (!call.has_input(index)) {
    return core::success();
  }
  if (core::Status status = require_real(call, index); !status) {
    return status;
  }
  const Shape& shape = call.in(0).shape();
  const Result<Shape> joint = broadcast_shape(call.in(index).shape(), shape);
  if (!joint || *joint != shape) {
    return op_error(fmt::format("{} has shape {}, which doesn't broadcast to the input's {}", input_text(call, index),
                                core::shape_text(call.in(index).shape()), core::shape_text(shape)));
  }
  return core::success();
}

/// values = values op parameter, the parameter broadcast to `shape`.
template <typename Apply>
void apply(const Tensor* parameter, const Shape& shape, std::vector<double>& values, const Apply& op) {
  if (parameter == nullptr) {
    return;
  }
  for_each_broadcast<1>(shape, {broadcast_strides(parameter->shape(), shape)},
                        [&](std::int64_t position, const std::array<std::int64_t, 1>& from) {
                          op(values[at(position)], parameter->reals()[at(from[0])]);
                        });
}

/// ONNX LayerNormalization-17: all axes from `axis` on share a mean and variance. Outputs Y, Mean, InvStdDev.
Result<std::vector<Tensor>> run_layer_normalization(const OpCall& call) {
  core::Status status = require_real(call, 0);
  status = status ? check_parameter(call, 1) : status;
  status = status ? check_parameter(call, 2) : status;
  if (!status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<std::int64_t> axis = checked_axis(call.node.int_or("axis", -1), x.rank());
  if (!axis) {
    return axis.error();
  }
  const double epsilon = call.node.float_or("epsilon", static_cast<double>(1e-5F));
  Shape reduced = x.shape();
  std::fill(reduced.begin() + *axis, reduced.end(), 1);
  const std::int64_t rows = core::element_count(reduced);
  const std::int64_t width = core::element_count(std::span(x.shape()).subspan(at(*axis)));
  std::vector<double> y(x.reals().begin(), x.reals().end());
  std::vector<double> means;
  std::vector<double> inverse_deviations;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Moments own = standardize(std::span(y).subspan(at(row * width), at(width)), epsilon);
    means.push_back(own.mean);
    inverse_deviations.push_back(own.inverse_deviation(epsilon));
  }
  apply(call.optional_in(1), x.shape(), y, [](double& value, double scale) { value *= scale; });
  apply(call.optional_in(2), x.shape(), y, [](double& value, double bias) { value += bias; });
  return std::vector{Tensor(x.type(), x.shape(), std::move(y)), Tensor(DType::float32, reduced, std::move(means)),
                     Tensor(DType::float32, reduced, std::move(inverse_deviations))};
}

Result<Facts> infer_layer_normalization(const ShapeCall& call) {
  core::Status status = require_real(call, 0);
  for (std::size_t index = 1; index < 3 && status; ++index) {
    status = call.has_input(index) ? require_real(call, index) : status;
    status = status ? require_broadcast_to(call, index, call.in(0).shape) : status;
  }
  const auto axis = axis_argument(call, "axis", -1);
  if (!status || !axis) {
    return status ? axis.error() : status.error();
  }
  std::optional<Dims> reduced = call.in(0).shape;
  if (reduced) {
    std::fill(reduced->begin() + **axis, reduced->end(), known(1));
  }
  return Facts{typed(call.in(0).type, call.in(0).shape), typed(DType::float32, reduced),
               typed(DType::float32, reduced)};
}

}  // namespace

const OpDef& op_layer_normalization() {
  static const OpDef def{.name = "LayerNormalization",
                         .first_opset = 17,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_layer_normalization,
                         .infer = &infer_layer_normalization};
  return def;
}

}  // namespace assay::reference
