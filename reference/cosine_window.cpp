#include "reference/cosine_window.hpp"

#include <cmath>
#include <numbers>

#include "reference/arguments.hpp"
#include "reference/cast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {

Result<std::vector<Tensor>> cosine_window(const OpCall& call, const std::array<double, 3>& a) {
  const auto size = integer_scalar(call, 0);
  if (!size) return size.error();
  if (const auto count = checked_count(Shape{*size}); !count) return count.error();
  const auto type = type_argument(call, "output_datatype", DType::float32);
  if (!type) return type.error();
  const std::int64_t period = call.node.int_or("periodic", 1) != 0 ? *size : *size - 1;
  std::vector<double> window;
  for (std::int64_t i = 0; i < *size; ++i) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
    window.push_back(period == 0 ? 1.0 : a[0] - a[1] * std::cos(angle) + a[2] * std::cos(2.0 * angle));
  }
  Tensor reals(core::is_real(*type) ? *type : DType::float64, {*size}, std::move(window));
  return single_output(core::is_real(*type) ? std::move(reals) : cast(reals, *type));
}

Result<Facts> infer_cosine_window(const ShapeCall& call) {
  const auto size = scalar_argument(call, 0);
  if (!size) return size.error();
  const auto type = type_argument(call, "output_datatype", DType::float32);
  if (!type) return type.error();
  return one(*type, Dims{*size ? known(static_cast<std::int64_t>(**size)) : Dimension()});
}

}  // namespace assay::reference
