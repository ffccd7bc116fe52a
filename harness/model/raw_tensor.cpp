#include "harness/model/raw_tensor.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace assay::model {

using core::DType;
using core::Shape;
using core::Tensor;

namespace {

constexpr unsigned kHalfFractionBits = 10;
constexpr unsigned kHalfExponentBias = 15;
constexpr std::uint16_t kHalfExponentMask = 0x1F;

}  // namespace

double half_to_double(std::uint16_t bits) {
  const bool negative = (bits >> 15U) != 0;
  const int exponent = (bits >> kHalfFractionBits) & kHalfExponentMask;
  const int fraction = bits & 0x3FF;
  double value = 0;
  if (exponent == kHalfExponentMask) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return negative ? -value : value;
}

double bfloat_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

namespace {

std::uint16_t double_to_half(double value) {
  const double rounded = core::round_to_type(value, DType::float16);
  const std::uint16_t sign = std::signbit(rounded) ? 0x8000 : 0;
  if (std::isnan(rounded)) {
    return static_cast<std::uint16_t>(sign | 0x7E00);
  }
  const double magnitude = std::fabs(rounded);
  if (std::isinf(magnitude)) {
    return static_cast<std::uint16_t>(sign | 0x7C00);
  }
  if (magnitude < 0x1p-14) {
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::ldexp(magnitude, 24)));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  const auto mantissa = static_cast<std::uint16_t>(std::ldexp(fraction, 11)) & 0x3FF;
  const auto biased = static_cast<std::uint16_t>(exponent - 1 + static_cast<int>(kHalfExponentBias));
  return static_cast<std::uint16_t>(sign | (biased << kHalfFractionBits) | mantissa);
}

std::uint16_t double_to_bfloat(double value) {
  const auto rounded = static_cast<float>(core::round_to_type(value, DType::bfloat16));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16U);
}

/// Little-endian element `index` of `bytes`; this code runs on little-endian machines only.
static_assert(std::endian::native == std::endian::little);
template <typename T>
T raw_element(std::string_view bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename Stored, typename Wide, typename Convert>
std::vector<Wide> from_raw(std::string_view bytes, std::size_t count, Convert convert) {
  std::vector<Wide> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = convert(raw_element<Stored>(bytes, i));
  }
  return values;
}

template <typename Stored, typename Wide>
std::vector<Wide> from_raw(std::string_view bytes, std::size_t count) {
  return from_raw<Stored, Wide>(bytes, count, [](Stored value) { return static_cast<Wide>(value); });
}

Tensor tensor_from_raw(DType type, Shape shape, std::string_view bytes, std::size_t count) {
  switch (type) {
    case DType::float32:
      return {type, std::move(shape), from_raw<float, double>(bytes, count)};
    case DType::float64:
      return {type, std::move(shape), from_raw<double, double>(bytes, count)};
    case DType::float16:
      return {type, std::move(shape), from_raw<std::uint16_t, double>(bytes, count, half_to_double)};
    case DType::bfloat16:
      return {type, std::move(shape), from_raw<std::uint16_t, double>(bytes, count, bfloat_to_double)};
    case DType::int8:
      return {type, std::move(shape), from_raw<std::int8_t, std::int64_t>(bytes, count)};
    case DType::boolean:
      return {type, std::move(shape),
              from_raw<std::uint8_t, std::int64_t>(bytes, count, [](std::uint8_t v) { return v != 0 ? 1 : 0; })};
    case DType::uint8:
      return {type, std::move(shape), from_raw<std::uint8_t, std::int64_t>(bytes, count)};
    case DType::int16:
      return {type, std::move(shape), from_raw<std::int16_t, std::int64_t>(bytes, count)};
    case DType::uint16:
      return {type, std::move(shape), from_raw<std::uint16_t, std::int64_t>(bytes, count)};
    case DType::int32:
      return {type, std::move(shape), from_raw<std::int32_t, std::int64_t>(bytes, count)};
    case DType::uint32:
      return {type, std::move(shape), from_raw<std::uint32_t, std::int64_t>(bytes, count)};
    default:
      return {type, std::move(shape), from_raw<std::int64_t, std::int64_t>(bytes, count)};
  }
}

template <typename Stored, typename Values, typename Convert>
std::string to_raw(const Values& values, Convert convert) {
  std::string bytes(values.size() * sizeof(Stored), '\0');
  char* out = bytes.data();
  for (const auto value : values) {
    const Stored stored = convert(value);
    std::memcpy(out, &stored, sizeof(Stored));
    out += sizeof(Stored);
  }
  return bytes;
}

template <typename Stored>
std::string integers_to_raw(const Tensor& tensor) {
  return to_raw<Stored>(tensor.integers(), [](std::int64_t value) { return static_cast<Stored>(value); });
}

}  // namespace

core::Result<Tensor> decode_raw(DType type, Shape shape, std::string_view bytes) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t extent : shape) {
    fits = fits && !__builtin_mul_overflow(count, extent, &count);
  }
  const auto element_bytes = static_cast<std::int64_t>(core::element_size_bytes(type));
  std::int64_t want = 0;
  if (!fits || __builtin_mul_overflow(count, element_bytes, &want) || bytes.size() != static_cast<std::size_t>(want)) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("{} of shape {} needs {} bytes, and there are {}", core::dtype_name(type),
                                   core::shape_text(shape), want, bytes.size()),
                       {},
                       {},
                       {}};
  }
  return tensor_from_raw(type, std::move(shape), bytes, static_cast<std::size_t>(count));
}

std::string encode_raw(const Tensor& tensor) {
  switch (tensor.type()) {
    case DType::float32:
      return to_raw<float>(tensor.reals(), [](double value) { return static_cast<float>(value); });
    case DType::float64:
      return to_raw<double>(tensor.reals(), [](double value) { return value; });
    case DType::float16:
      return to_raw<std::uint16_t>(tensor.reals(), double_to_half);
    case DType::bfloat16:
      return to_raw<std::uint16_t>(tensor.reals(), double_to_bfloat);
    case DType::int8:
      return integers_to_raw<std::int8_t>(tensor);
    case DType::uint8:
    case DType::boolean:
      return integers_to_raw<std::uint8_t>(tensor);
    case DType::int16:
      return integers_to_raw<std::int16_t>(tensor);
    case DType::uint16:
      return integers_to_raw<std::uint16_t>(tensor);
    case DType::int32:
      return integers_to_raw<std::int32_t>(tensor);
    case DType::uint32:
      return integers_to_raw<std::uint32_t>(tensor);
    default:
      return integers_to_raw<std::int64_t>(tensor);
  }
}

}  // namespace assay::model
