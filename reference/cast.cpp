#include "reference/cast.hpp"

#include <algorithm>
#include <utility>

#include "reference/arithmetic.hpp"

namespace assay::reference {
namespace {

using core::DType;
using core::Tensor;

double to_real(std::int64_t value, DType type) {
  // Straight to float32: by way of float64 a large value would be rounded twice.
  if (type == DType::float32) return static_cast<double>(static_cast<float>(value));
  return core::round_to_type(static_cast<double>(value), type);
}

std::int64_t to_integer(double value, DType type) {
  if (type == DType::boolean) return value != 0.0 ? 1 : 0;
  return truncate_to(value, type);
}

}  // namespace

Tensor cast(const Tensor& tensor, DType type) {
  const auto count = static_cast<std::size_t>(tensor.size());
  if (core::is_real(type)) {
    std::vector<double> values(count);
    if (tensor.is_real()) {
      std::ranges::transform(tensor.reals(), values.begin(), [&](double x) { return core::round_to_type(x, type); });
    } else {
      std::ranges::transform(tensor.integers(), values.begin(), [&](std::int64_t x) { return to_real(x, type); });
    }
    return {type, tensor.shape(), std::move(values)};
  }
  std::vector<std::int64_t> values(count);
  if (tensor.is_real()) {
    std::ranges::transform(tensor.reals(), values.begin(), [&](double x) { return to_integer(x, type); });
  } else {
    std::ranges::transform(tensor.integers(), values.begin(), [&](std::int64_t x) { return wrap(x, type); });
  }
  return {type, tensor.shape(), std::move(values)};
}

}  // namespace assay::reference
