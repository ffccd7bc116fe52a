#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ceil((limit - start) / delta), or 0. Errors   a step of 0, NaN, too many.
Result<std::int64_t> count_of(double start, double limit, double delta) {
  const double exact = std::ceil((limit - start) / delta);
  if (delta == 0.0 || std::isnan(exact) || exact > static_cast<double>(kElementLimit)) {
    return op_error(fmt::format("no range goes from {} to {} in steps of {}", start, limit, delta));
  }
  return exact > 0.0 ? static_cast<std::int64_t>(exact) : 0;
}

// ONNX Range-11: start + i * delta up to, and not including, limit.
Result<std::vector<Tensor>> run_range(const OpCall& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (const auto same = require_same_type(call, 0, i); !same) return same.error();
    if (const auto scalar = real_scalar(call, i); !scalar) return scalar.error();
  }
  const DType type = call.in(0).type();
  const auto count = count_of(call.in(0).as_real(0), call.in(1).as_real(0), call.in(2).as_real(0));
  if (!count) return count.error();
  const Shape shape{*count};
  if (call.in(0).is_real()) {
    std::vector<double> values(at(*count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = call.in(0).reals()[0] + static_cast<double>(i) * call.in(2).reals()[0];
    }
    return single_output(Tensor(type, shape, std::move(values)));
  }
  std::vector<std::int64_t> values(at(*count));
  std::int64_t next = call.in(0).integers()[0];
  for (std::int64_t& value : values) {
    value = next;
    next = plus(next, call.in(2).integers()[0]);
  }
  return single_output(Tensor(type, shape, std::move(values)));
}

Result<Facts> infer_range(const ShapeCall& call) {
  if (const auto same = require_one_type(call, 3); !same) return same.error();
  std::array<double, 3> numbers{};
  Dimension count;
  bool all_known = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = scalar_argument(call, i);
    if (!number) return number.error();
    all_known = all_known && *number;
    numbers[i] = number->value_or(0.0);
  }
  if (all_known) {
    const auto exact = count_of(numbers[0], numbers[1], numbers[2]);
    if (!exact) return exact.error();
    count = known(*exact);
  }
  return one(call.in(0).type, Dims{count});
}

}  // namespace

const OpDef& op_range() {
  static const OpDef def{
      .name = "Range", .first_opset = 11, .min_inputs = 3, .max_inputs = 3, .run = &run_range, .infer = &infer_range};
  return def;
}

}  // namespace assay::reference
