#include "harness/model/raw_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/core/float_format.hpp"

namespace assay::model {

using core::DType;
using core::Shape;
using core::Tensor;

namespace {

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

constexpr std::size_t kByteBits = 8;

/// Types below a byte are packed, the first element in the lowest bits.
std::vector<std::uint32_t> unpacked(std::string_view bytes, std::size_t count, std::size_t bits) {
  std::vector<std::uint32_t> codes(count);
  const std::size_t per_byte = kByteBits / bits;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i / per_byte]);
    codes[i] = (byte >> (i % per_byte * bits)) & ((1U << bits) - 1U);
  }
  return codes;
}

std::string packed(const std::vector<std::uint32_t>& codes, std::size_t bits) {
  const std::size_t per_byte = kByteBits / bits;
  std::string bytes((codes.size() + per_byte - 1) / per_byte, '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint32_t shifted = (codes[i] & ((1U << bits) - 1U)) << (i % per_byte * bits);
    char& byte = bytes[i / per_byte];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) | shifted);
  }
  return bytes;
}

Tensor small_floats(DType type, Shape shape, const std::vector<std::uint32_t>& codes) {
  std::vector<double> values(codes.size());
  std::ranges::transform(codes, values.begin(),
                         [&](std::uint32_t code) { return core::decode_float(code, core::float_format(type)); });
  return {type, std::move(shape), std::move(values)};
}

Tensor small_integers(DType type, Shape shape, const std::vector<std::uint32_t>& codes) {
  const std::int64_t high = core::integer_limits(type).high;
  const std::int64_t period = std::int64_t{1} << core::element_size_bits(type);
  std::vector<std::int64_t> values(codes.size());
  std::ranges::transform(codes, values.begin(), [&](std::int64_t code) { return code > high ? code - period : code; });
  return {type, std::move(shape), std::move(values)};
}

Tensor tensor_from_raw(DType type, Shape shape, std::string_view bytes, std::size_t count) {
  const std::size_t bits = core::element_size_bits(type);
  if (bits < kByteBits) {
    const std::vector<std::uint32_t> codes = unpacked(bytes, count, bits);
    return core::is_real(type) ? small_floats(type, std::move(shape), codes)
                               : small_integers(type, std::move(shape), codes);
  }
  if (core::is_real(type) && bits == 8) {
    return small_floats(type, std::move(shape), from_raw<std::uint8_t, std::uint32_t>(bytes, count));
  }
  if (core::is_real(type) && bits == 16) {
    return small_floats(type, std::move(shape), from_raw<std::uint16_t, std::uint32_t>(bytes, count));
  }
  switch (type) {
    case DType::float32:
      return {type, std::move(shape), from_raw<float, double>(bytes, count)};
    case DType::float64:
      return {type, std::move(shape), from_raw<double, double>(bytes, count)};
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
    const auto stored = static_cast<Stored>(convert(value));
    std::memcpy(out, &stored, sizeof(Stored));
    out += sizeof(Stored);
  }
  return bytes;
}

template <typename Stored>
std::string integers_to_raw(const Tensor& tensor) {
  return to_raw<Stored>(tensor.integers(), [](std::int64_t value) { return static_cast<Stored>(value); });
}

std::string small_to_raw(const Tensor& tensor) {
  const auto code_of_real = [&](double value) {
    return core::encode_float(core::round_to_type(value, tensor.type()), core::float_format(tensor.type()));
  };
  const std::size_t bits = core::element_size_bits(tensor.type());
  if (bits == 16) return to_raw<std::uint16_t>(tensor.reals(), code_of_real);
  if (bits == 8) return to_raw<std::uint8_t>(tensor.reals(), code_of_real);
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(tensor.size()));
  if (tensor.is_real()) {
    std::ranges::transform(tensor.reals(), codes.begin(), code_of_real);
  } else {
    std::ranges::transform(tensor.integers(), codes.begin(),
                           [](std::int64_t value) { return static_cast<std::uint32_t>(value); });
  }
  return packed(codes, bits);
}

}  // namespace

core::Result<Tensor> decode_raw(DType type, Shape shape, std::string_view bytes) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t extent : shape) {
    fits = fits && !__builtin_mul_overflow(count, extent, &count);
  }
  const auto bits = static_cast<std::int64_t>(core::element_size_bits(type));
  std::int64_t want = 0;
  fits = fits && !__builtin_mul_overflow(count, bits, &want);
  constexpr auto kBits = static_cast<std::int64_t>(kByteBits);
  want = want / kBits + (want % kBits != 0 ? 1 : 0);
  if (!fits || bytes.size() != static_cast<std::size_t>(want)) {
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
  const std::size_t bits = core::element_size_bits(tensor.type());
  if (bits < kByteBits || (tensor.is_real() && bits <= 16)) {
    return small_to_raw(tensor);
  }
  switch (tensor.type()) {
    case DType::float32:
      return to_raw<float>(tensor.reals(), [](double value) { return static_cast<float>(value); });
    case DType::float64:
      return to_raw<double>(tensor.reals(), [](double value) { return value; });
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
