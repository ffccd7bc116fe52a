#include "harness/core/tensor.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "harness/core/float_format.hpp"

namespace assay::core {
std::int64_t element_count(std::span<const std::int64_t> shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;  // however large the others are
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<std::int64_t>::max();
  }
  return count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  }
  return text + "]";
}

Tensor::Tensor(DType type, Shape shape, std::vector<double> values)
    : type_(type), shape_(std::move(shape)), data_(std::move(values)) {
  assert(core::is_real(type_) && element_count(shape_) == size());
}

Tensor::Tensor(DType type, Shape shape, std::vector<std::int64_t> values)
    : type_(type), shape_(std::move(shape)), data_(std::move(values)) {
  assert(core::is_integer(type_) && element_count(shape_) == size());
}

Tensor Tensor::zeros(DType type, Shape shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (core::is_real(type)) {
    return {type, std::move(shape), std::vector<double>(count)};
  }
  return {type, std::move(shape), std::vector<std::int64_t>(count)};
}

Tensor Tensor::scalar(DType type, double value) {
  if (core::is_real(type)) {
    return {type, {}, std::vector<double>{value}};
  }
  return {type, {}, std::vector<std::int64_t>{static_cast<std::int64_t>(value)}};
}

std::int64_t Tensor::size() const {
  return std::visit([](const auto& values) { return static_cast<std::int64_t>(values.size()); }, data_);
}

double Tensor::as_real(std::int64_t index) const {
  return std::visit(
      [index](const auto& values) { return static_cast<double>(values[static_cast<std::size_t>(index)]); }, data_);
}

std::vector<double> Tensor::to_reals() const {
  if (is_real()) {
    return *std::get_if<std::vector<double>>(&data_);
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(size()));
  for (const std::int64_t value : integers()) {
    values.push_back(static_cast<double>(value));
  }
  return values;
}

std::vector<std::int64_t> Tensor::to_integers() const {
  if (!is_real()) {
    return *std::get_if<std::vector<std::int64_t>>(&data_);
  }
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(size()));
  for (const double value : reals()) {
    values.push_back(static_cast<std::int64_t>(value));
  }
  return values;
}

Tensor Tensor::reshaped(Shape shape) const& {
  Tensor copy = *this;
  return std::move(copy).reshaped(std::move(shape));
}

Tensor Tensor::reshaped(Shape shape) && {
  assert(element_count(shape) == size());
  shape_ = std::move(shape);
  return std::move(*this);
}

Tensor Tensor::relabeled(DType type) && {
  assert(core::is_real(type) == is_real());
  type_ = type;
  return std::move(*this);
}

double round_to_type(double value, DType type) {
  if (type == DType::float32) {
    return static_cast<double>(static_cast<float>(value));
  }
  return type == DType::float64 || !core::is_real(type) ? value : round_to_format(value, float_format(type));
}

Tensor rounded_to_type(Tensor tensor) {
  if (tensor.is_real()) {
    for (double& value : tensor.reals()) {
      value = round_to_type(value, tensor.type());
    }
  }
  return tensor;
}

}  // namespace assay::core
