#include <algorithm>
#include <array>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/quant.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kInputTypes{DType::float32};
constexpr double kCodes = 255.0;

/// ONNX DynamicQuantizeLinear-11: the range of x, widened to hold 0, over uint8. Outputs y, y_scale, y_zero_point.
/// The scale is rounded to the float32 that the output holds before anything is divided by it.
/// The range of an empty or zero tensor gives no scale by the standard's formula; scale 1 stands in for it.
Result<std::vector<Tensor>> run_dynamic_quantize_linear(const OpCall& call) {
  if (const core::Status status = require_type(call, 0, kInputTypes); !status) {
    return status.error();
  }
  const std::span<const double> x = call.in(0).reals();
  double low = 0.0;
  double high = 0.0;
  for (const double value : x) {
    if (!std::isfinite(value)) {
      return op_error(input_text(call, 0) + " holds NaN or an infinity, which leaves no range to quantize");
    }
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double scale = high > low ? core::round_to_type((high - low) / kCodes, DType::float32) : 1.0;
  const std::int64_t zero_point = quantize(-low, scale, 0, DType::uint8);
  std::vector<std::int64_t> codes(x.size());
  std::transform(x.begin(), x.end(), codes.begin(),
                 [&](double value) { return quantize(value, scale, zero_point, DType::uint8); });
  return std::vector{Tensor(DType::uint8, call.in(0).shape(), std::move(codes)),
                     Tensor(DType::float32, Shape{}, std::vector{scale}),
                     Tensor(DType::uint8, Shape{}, std::vector{zero_point})};
}

Result<Facts> infer_dynamic_quantize_linear(const ShapeCall& call) {
  if (const core::Status status = require_type(call, 0, kInputTypes); !status) {
    return status.error();
  }
  return Facts{typed(DType::uint8, call.in(0).shape), typed(DType::float32, Dims()), typed(DType::uint8, Dims())};
}

}  // namespace

const OpDef& op_dynamic_quantize_linear() {
  static const OpDef def{.name = "DynamicQuantizeLinear",
                         .first_opset = 11,
                         .run = &run_dynamic_quantize_linear,
                         .infer = &infer_dynamic_quantize_linear};
  return def;
}

}  // namespace assay::reference
