#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "harness/model/proto.hpp"

namespace assay::model::proto {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kHalfFractionBits = 10;
constexpr unsigned kHalfExponentBias = 15;
constexpr std::uint16_t kHalfExponentMask = 0x1F;

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

double bfloat_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

std::uint16_t double_to_bfloat(double value) {
  const auto rounded = static_cast<float>(core::round_to_type(value, DType::bfloat16));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16U);
}

/// Little-endian element `index` of `bytes`; this code runs on little-endian machines only.
static_assert(std::endian::native == std::endian::little);
template <typename T>
T raw_element(const std::string& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename Stored, typename Wide, typename Convert>
std::vector<Wide> from_raw(const std::string& bytes, std::size_t count, Convert convert) {
  std::vector<Wide> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = convert(raw_element<Stored>(bytes, i));
  }
  return values;
}

template <typename Stored, typename Wide>
std::vector<Wide> from_raw(const std::string& bytes, std::size_t count) {
  return from_raw<Stored, Wide>(bytes, count, [](Stored value) { return static_cast<Wide>(value); });
}

Tensor tensor_from_raw(DType type, Shape shape, const std::string& bytes, std::size_t count) {
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

core::Error size_error(const onnx::TensorProto& proto, std::size_t have, std::size_t want) {
  return model_error(
      fmt::format("tensor \"{}\" declares shape {} of {} elements but holds data of {}", proto.name(),
                  core::shape_text({proto.dims().data(), static_cast<std::size_t>(proto.dims_size())}), want, have),
      {}, {}, proto.name());
}

/// Bytes of external data, from a file inside `folder` only.
core::Result<std::string> external_bytes(const onnx::TensorProto& proto, const fs::path& folder,
                                         std::size_t want_bytes) {
  std::string location;
  std::uintmax_t offset = 0;
  std::uintmax_t length = want_bytes;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      char* end = nullptr;
      const auto number = std::strtoull(entry.value().c_str(), &end, 10);
      if (end == entry.value().c_str() || *end != '\0' || entry.value().front() == '-') {
        return model_error(fmt::format("tensor \"{}\": external data {} \"{}\" is no number", proto.name(), entry.key(),
                                       entry.value()),
                           {}, {}, proto.name());
      }
      (entry.key() == "offset" ? offset : length) = number;
    }
  }
  const auto refuse = [&](std::string_view why) {
    return model_error(
        fmt::format("tensor \"{}\": external data \"{}\" {}; it must be a file inside the model's folder", proto.name(),
                    location, why),
        {}, {}, proto.name());
  };
  const fs::path relative(location);
  if (folder.empty()) {
    return refuse("is not allowed here");
  }
  if (location.empty() || relative.is_absolute()) {
    return refuse("is not a relative path");
  }
  std::error_code code;
  const fs::path root = fs::canonical(folder, code);
  const fs::path file = fs::weakly_canonical(root / relative, code);
  const fs::path inside = file.lexically_relative(root);
  if (code || inside.empty() || *inside.begin() == "..") {
    return refuse("lies outside");
  }
  const std::uintmax_t size = fs::file_size(file, code);
  if (code) {
    return refuse("can't be read");
  }
  if (length != want_bytes || offset > size || length > size - offset) {
    return model_error(fmt::format("tensor \"{}\" needs {} bytes; its external data names {} bytes at {} of \"{}\", "
                                   "which has {}",
                                   proto.name(), want_bytes, length, offset, location, size),
                       {}, {}, proto.name());
  }
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(want_bytes, '\0');
  if (want_bytes > 0 && !stream.read(bytes.data(), static_cast<std::streamsize>(want_bytes))) {
    return refuse("can't be read whole");
  }
  return bytes;
}

core::Result<Tensor> from_typed_fields(const onnx::TensorProto& proto, DType type, Shape shape, std::size_t count) {
  const auto reals = [&](const auto& field) -> core::Result<Tensor> {
    if (static_cast<std::size_t>(field.size()) != count) {
      return size_error(proto, static_cast<std::size_t>(field.size()), count);
    }
    return Tensor(type, std::move(shape), std::vector<double>(field.begin(), field.end()));
  };
  const auto integers = [&](const auto& field) -> core::Result<Tensor> {
    if (static_cast<std::size_t>(field.size()) != count) {
      return size_error(proto, static_cast<std::size_t>(field.size()), count);
    }
    std::vector<std::int64_t> values;
    values.reserve(count);
    const core::IntegerLimits limits = core::integer_limits(type);
    for (const auto value : field) {
      const auto wide = static_cast<std::int64_t>(value);
      if (type != DType::uint64 && (wide < limits.low || wide > limits.high)) {
        return model_error(fmt::format("tensor \"{}\" of type {} holds {}", proto.name(), core::dtype_name(type), wide),
                           {}, {}, proto.name());
      }
      values.push_back(wide);
    }
    return Tensor(type, std::move(shape), std::move(values));
  };
  switch (type) {
    case DType::float32:
      return reals(proto.float_data());
    case DType::float64:
      return reals(proto.double_data());
    case DType::float16:
    case DType::bfloat16: {
      if (static_cast<std::size_t>(proto.int32_data_size()) != count) {
        return size_error(proto, static_cast<std::size_t>(proto.int32_data_size()), count);
      }
      std::vector<double> values;
      values.reserve(count);
      for (const std::int32_t bits : proto.int32_data()) {
        const auto narrow = static_cast<std::uint16_t>(bits);
        values.push_back(type == DType::float16 ? half_to_double(narrow) : bfloat_to_double(narrow));
      }
      return Tensor(type, std::move(shape), std::move(values));
    }
    case DType::int64:
      return integers(proto.int64_data());
    case DType::uint32:
    case DType::uint64:
      return integers(proto.uint64_data());
    default:
      return integers(proto.int32_data());
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

std::string raw_bytes(const Tensor& tensor) {
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

}  // namespace

core::Result<Tensor> decode_tensor(const onnx::TensorProto& proto, const fs::path& folder, const LoadLimits& limits) {
  const auto type = static_cast<DType>(proto.data_type());
  const std::size_t element_bytes = core::element_size_bytes(type);
  if (element_bytes == 0) {
    return core::Error{
        core::ErrorKind::unsupported,
        fmt::format("tensor \"{}\" has element type {}, which Assay doesn't read", proto.name(), proto.data_type()),
        {},
        {},
        proto.name()};
  }
  Shape shape(proto.dims().begin(), proto.dims().end());
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > limits.tensor_elements) {
      return model_error(fmt::format("tensor \"{}\" declares shape {}: negative, or more than {} elements",
                                     proto.name(), core::shape_text(shape), limits.tensor_elements),
                         {}, {}, proto.name());
    }
  }
  const auto elements = static_cast<std::size_t>(count);
  if (proto.has_segment()) {
    return model_error(fmt::format("tensor \"{}\" is stored in segments, which ONNX has withdrawn", proto.name()), {},
                       {}, proto.name());
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    core::Result<std::string> bytes = external_bytes(proto, folder, elements * element_bytes);
    if (!bytes) {
      return bytes.error();
    }
    return tensor_from_raw(type, std::move(shape), *bytes, elements);
  }
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != elements * element_bytes) {
      return size_error(proto, proto.raw_data().size() / element_bytes, elements);
    }
    return tensor_from_raw(type, std::move(shape), proto.raw_data(), elements);
  }
  return from_typed_fields(proto, type, std::move(shape), elements);
}

onnx::TensorProto encode_tensor(const std::string& name, const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<std::int32_t>(tensor.type()));
  for (const std::int64_t extent : tensor.shape()) {
    proto.add_dims(extent);
  }
  proto.set_raw_data(raw_bytes(tensor));
  return proto;
}

}  // namespace assay::model::proto
