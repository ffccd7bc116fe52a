#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/dtype.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"

namespace assay::embedded::engine {

using core::DType;
using core::Shape;

/// A dense row-major tensor in its own width: float32, int8, uint8, int16, uint16, int32, int64 or boolean (one byte, 0
/// or 1). Copies share the elements; who writes into a buffer has just made it.
class Buffer {
 public:
  Buffer() = default;
  /// Elements are not initialized. Throws std::bad_alloc, also for more than kMostElements or a negative extent: who
  /// runs a kernel catches it and names the node.
  Buffer(DType type, Shape shape);

  /// Errors   unsupported for element types that the engine does not have.
  [[nodiscard]] static core::Result<Buffer> from_tensor(const core::Tensor& tensor);
  [[nodiscard]] core::Tensor to_tensor() const;

  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The elements; T must be the element's own type (std::uint8_t for boolean).
  template <typename T>
  [[nodiscard]] T* data() {
    return reinterpret_cast<T*>(bytes_.get());
  }
  template <typename T>
  [[nodiscard]] const T* data() const {
    return reinterpret_cast<const T*>(bytes_.get());
  }
  template <typename T>
  [[nodiscard]] std::span<const T> span() const {
    return {data<T>(), static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] std::size_t element_bytes() const;
  /// The same elements under another shape of equal size.
  [[nodiscard]] Buffer reshaped(Shape shape) const;
  /// Integer elements (and booleans) as int64.
  [[nodiscard]] std::vector<std::int64_t> to_integers() const;

 private:
  DType type_ = DType::undefined;
  Shape shape_;
  std::int64_t size_ = 0;
  std::shared_ptr<std::byte[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): as long as the shape says
};

/// More elements than this are refused before any memory is asked for.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 28U;
/// Product of the extents; nothing where one is negative or the product passes kMostElements.
[[nodiscard]] std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape);

/// Whether the engine stores elements of `type`.
[[nodiscard]] bool is_stored(DType type);

/// Calls `body` with a value of the element's own C++ type.
template <typename Body>
auto with_element_type(DType type, Body&& body) {
  switch (type) {
    case DType::int8:
      return body(std::int8_t{});
    case DType::uint8:
    case DType::boolean:
      return body(std::uint8_t{});
    case DType::int16:
      return body(std::int16_t{});
    case DType::uint16:
      return body(std::uint16_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::int64:
      return body(std::int64_t{});
    default:
      return body(float{});
  }
}

/// Calls `body` with an unsigned value of the element's width, for kernels that only move elements.
template <typename Body>
auto with_element_width(DType type, Body&& body) {
  switch (type) {
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
      return body(std::uint8_t{});
    case DType::int16:
    case DType::uint16:
      return body(std::uint16_t{});
    case DType::int64:
      return body(std::uint64_t{});
    default:
      return body(std::uint32_t{});
  }
}

/// Calls `body` with the C++ type of a code of 8 bits: std::int8_t for int8, std::uint8_t otherwise.
template <typename Body>
auto with_code_type(DType type, Body&& body) {
  return type == DType::int8 ? body(std::int8_t{}) : body(std::uint8_t{});
}

}  // namespace assay::embedded::engine
