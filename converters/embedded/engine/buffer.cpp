#include "converters/embedded/engine/buffer.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace assay::embedded::engine {

bool is_stored(DType type) {
  switch (type) {
    case DType::float32:
    case DType::int8:
    case DType::uint8:
    case DType::int16:
    case DType::uint16:
    case DType::int32:
    case DType::int64:
    case DType::boolean:
    case DType::float16:  // the numbers of smaller types lie in floats
    case DType::bfloat16:
    case DType::float8e4m3fn:
    case DType::float8e5m2:
      return true;
    default:
      return false;
  }
}

std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) return 0;
    if (count > kMostElements / extent) count = kMostElements + 1;  // a later 0 may still make it empty
    if (count <= kMostElements) count *= extent;
  }
  return count <= kMostElements ? std::optional(count) : std::nullopt;
}

Buffer::Buffer(DType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  const auto count = checked_count(shape_);
  if (!count) throw std::bad_alloc();
  size_ = *count;
  const auto size_bytes = static_cast<std::size_t>(size_) * element_bytes();
  bytes_ = std::make_shared_for_overwrite<std::byte[]>(size_bytes);  // NOLINT(modernize-avoid-c-arrays): as declared
}

std::size_t Buffer::element_bytes() const {
  return with_element_type(type_, [](auto element) { return sizeof(element); });
}

Buffer Buffer::reshaped(Shape shape) const {
  Buffer copy = *this;
  copy.shape_ = std::move(shape);
  return copy;
}

std::vector<std::int64_t> Buffer::to_integers() const {
  return with_element_type(type_, [&](auto element) {
    const auto* values = data<decltype(element)>();
    std::vector<std::int64_t> integers(static_cast<std::size_t>(size_));
    for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<std::int64_t>(values[i]);
    return integers;
  });
}

core::Result<Buffer> Buffer::from_tensor(const core::Tensor& tensor) {
  if (!is_stored(tensor.type())) {
    return core::Error{core::ErrorKind::unsupported,
                       fmt::format("the integer engine does not store elements of type {}; cast to float",
                                   core::dtype_name(tensor.type())),
                       "", "", ""};
  }
  Buffer buffer(tensor.type(), tensor.shape());
  if (tensor.is_real()) {
    auto* out = buffer.data<float>();
    for (const double value : tensor.reals()) *out++ = static_cast<float>(value);
    return buffer;
  }
  with_element_type(tensor.type(), [&](auto element) {
    auto* out = buffer.data<decltype(element)>();
    for (const std::int64_t value : tensor.integers()) *out++ = static_cast<decltype(element)>(value);
  });
  return buffer;
}

core::Tensor Buffer::to_tensor() const {
  if (core::is_real(type_)) {
    const auto values = span<float>();
    return {type_, shape_, std::vector<double>(values.begin(), values.end())};
  }
  return {type_, shape_, to_integers()};
}

}  // namespace assay::embedded::engine
