#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// base^exponent by squaring, modulo 2^64. A negative exponent truncates 1 / base^|exponent| towards zero.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::int64_t power = 1;
  while (exponent > 0) {
    if (exponent % 2 != 0) power = times(power, base);
    base = times(base, base);
    exponent /= 2;
  }
  return power;
}

// ONNX Pow-15: base and exponent may differ in type, and the result has the base's. An integer base with a real
// exponent is raised as a real and truncated.
Result<std::vector<Tensor>> run_pow(const OpCall& call) {
  const Tensor& base = call.in(0);
  const Tensor& exponent = call.in(1);
  if (!base.is_real() && !exponent.is_real()) {
    return single_output(zip_numbers(base, exponent, [](auto a, auto b) {
      return static_cast<decltype(a)>(integer_power(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
    }));
  }
  const auto shape = broadcast_shape(base.shape(), exponent.shape());
  if (!shape) return shape.error();
  const std::vector<double> a = base.to_reals();
  const std::vector<double> b = exponent.to_reals();
  std::vector<double> values =
      zip_values<double>(std::span<const double>(a), base.shape(), std::span<const double>(b), exponent.shape(), *shape,
                         [](double x, double y) { return std::pow(x, y); });
  if (base.is_real()) return single_output(Tensor(base.type(), *shape, std::move(values)));
  std::vector<std::int64_t> integers(values.size());
  std::ranges::transform(values, integers.begin(), [&](double value) { return truncate_to(value, base.type()); });
  return single_output(Tensor(base.type(), *shape, std::move(integers)));
}

Result<Facts> infer_pow(const ShapeCall& call) {
  auto shape = broadcast_known(call.in(0).shape, call.in(1).shape);
  if (!shape) return shape.error();
  return one(call.in(0).type, std::move(*shape));
}

}  // namespace

const OpDef& op_pow() {
  static const OpDef def{
      .name = "Pow", .first_opset = 7, .min_inputs = 2, .max_inputs = 2, .run = &run_pow, .infer = &infer_pow};
  return def;
}

}  // namespace assay::reference
