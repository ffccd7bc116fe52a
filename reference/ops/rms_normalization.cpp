#include <fmt/format.h>

#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX RMSNormalization-23: x / sqrt(mean of x² over the axes from `axis` on + epsilon) * scale, scale broadcast to x.
// The result has scale's type. stash_type, which names a type to compute in, changes nothing: that is float64 here.
Result<std::vector<Tensor>> run_rms_normalization(const OpCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto real = require_real(call, i); !real) return real.error();
  }
  const Tensor& x = call.in(0);
  const Tensor& scale = call.in(1);
  const auto axis = checked_axis(call.node.int_or("axis", -1), x.rank());
  if (!axis) return axis.error();
  const auto joint = broadcast_shape(scale.shape(), x.shape());
  if (!joint || *joint != x.shape()) {
    return op_error(fmt::format("scale is {}, which doesn't broadcast to {}", tensor_text(scale), tensor_text(x)));
  }
  const double epsilon = call.node.float_or("epsilon", static_cast<double>(1e-5F));
  const std::int64_t width = core::element_count(std::span(x.shape()).subspan(at(*axis)));
  std::vector<double> normalized(x.reals().begin(), x.reals().end());
  for (std::int64_t first = 0; first < x.size(); first += width) {
    const auto row = std::span(normalized).subspan(at(first), at(width));
    double squares = 0.0;
    for (const double value : row) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (double& value : row) value /= rms;
  }
  return single_output(zip_numbers(Tensor(scale.type(), x.shape(), std::move(normalized)), scale,
                                   [](auto a, auto b) { return times(a, b); }));
}

Result<Facts> infer_rms_normalization(const ShapeCall& call) {
  const auto axis = axis_argument(call, "axis", -1);
  if (!axis) return axis.error();
  if (const auto scale = require_broadcast_to(call, 1, call.in(0).shape); !scale) return scale.error();
  return one(call.in(1).type, call.in(0).shape);
}

}  // namespace

const OpDef& op_rms_normalization() {
  static const OpDef def{.name = "RMSNormalization",
                         .first_opset = 23,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_rms_normalization,
                         .infer = &infer_rms_normalization};
  return def;
}

}  // namespace assay::reference
