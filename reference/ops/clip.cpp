#include <limits>

#include "harness/core/float_format.hpp"
#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kBoundsAreInputs = 11;

/// The ends of `type`, which stand in for a bound that is left out.
double highest_real(DType type) {
  if (type == DType::float64) return std::numeric_limits<double>::max();
  if (type != DType::float32) return core::largest_value(core::float_format(type));
  return static_cast<double>(std::numeric_limits<float>::max());
}

template <typename Value>
Value clamp(Value x, Value low, Value high) {
  const Value raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/// min, max as inputs 1 and 2. Errors   not a scalar, or of another type than the data.
core::Status check_bounds(const OpCall& call) {
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!call.has_input(i)) continue;
    if (const auto same = require_same_type(call, 0, i); !same) return same.error();
    if (const auto scalar = real_scalar(call, i); !scalar) return scalar.error();
  }
  return core::success();
}

// ONNX Clip-13: min(max(x, low), high), so that low > high gives high everywhere. Bounds are attributes before
// opset 11. NaN stays NaN.
Result<std::vector<Tensor>> run_clip(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (const auto bounds = check_bounds(call); !bounds) return bounds.error();
  const Tensor* min = call.opset >= kBoundsAreInputs ? call.optional_in(1) : nullptr;
  const Tensor* max = call.opset >= kBoundsAreInputs ? call.optional_in(2) : nullptr;
  if (!x.is_real()) {
    const core::IntegerLimits limits = core::integer_limits(x.type());
    const std::int64_t low = min != nullptr ? min->integers()[0] : limits.low;
    const std::int64_t high = max != nullptr ? max->integers()[0] : limits.high;
    return map_integers(call, [=](std::int64_t value) { return clamp(value, low, high); });
  }
  const double end = highest_real(x.type());
  double low = min != nullptr ? min->reals()[0] : -end;
  double high = max != nullptr ? max->reals()[0] : end;
  if (call.opset < kBoundsAreInputs) {
    low = call.node.float_or("min", low);
    high = call.node.float_or("max", high);
  }
  return map_reals(call, [=](double value) { return clamp(value, low, high); });
}

Result<Facts> infer_clip(const ShapeCall& call) {
  for (std::size_t i = 1; i <= 2; ++i) {
    if (const auto same = require_same_type(call, 0, i); !same) return same.error();
    if (const auto scalar = require_single(call, i); !scalar) return scalar.error();
  }
  return infer_same(call);
}

}  // namespace

const OpDef& op_clip() {
  static const OpDef def{.name = "Clip", .first_opset = 6, .max_inputs = 3, .run = &run_clip, .infer = &infer_clip};
  return def;
}

}  // namespace assay::reference
