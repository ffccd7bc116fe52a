#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <fstream>

#include "harness/core/confined.hpp"
#include "harness/model/proto.hpp"
#include "harness/model/raw_tensor.hpp"

namespace assay::model::proto {
namespace {

namespace fs = std::filesystem;

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
  if (code || !core::is_below(file, root)) {
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

/// The decoded tensor, or its error with the tensor's name.
core::Result<Tensor> named(const onnx::TensorProto& proto, core::Result<Tensor> tensor) {
  if (tensor) {
    return tensor;
  }
  return model_error(fmt::format("tensor \"{}\": {}", proto.name(), tensor.error().message), {}, {}, proto.name());
}

/// The raw form of types that int32_data holds as codes: one byte (with what is packed into it) or two in each entry.
std::string bytes_of_codes(const onnx::TensorProto& proto, std::size_t bits) {
  std::string bytes;
  for (const std::int32_t code : proto.int32_data()) {
    const auto unsigned_code = static_cast<std::uint32_t>(code);
    bytes.push_back(static_cast<char>(unsigned_code & 0xFFU));
    if (bits == 16) bytes.push_back(static_cast<char>((unsigned_code >> 8U) & 0xFFU));
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
  if (const std::size_t bits = core::element_size_bits(type); bits < 8 || (core::is_real(type) && bits <= 16)) {
    return named(proto, decode_raw(type, std::move(shape), bytes_of_codes(proto, bits)));
  }
  switch (type) {
    case DType::float32:
      return reals(proto.float_data());
    case DType::float64:
      return reals(proto.double_data());
    case DType::int64:
      return integers(proto.int64_data());
    case DType::uint32:
    case DType::uint64:
      return integers(proto.uint64_data());
    default:
      return integers(proto.int32_data());
  }
}

}  // namespace

core::Result<Tensor> decode_tensor(const onnx::TensorProto& proto, const fs::path& folder, const LoadLimits& limits) {
  const auto type = static_cast<DType>(proto.data_type());
  const std::size_t element_bits = core::element_size_bits(type);
  if (element_bits == 0) {
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
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return model_error(fmt::format("tensor \"{}\" declares shape {}: negative, or more elements than 64 bits count",
                                     proto.name(), core::shape_text(shape)),
                         {}, {}, proto.name());
    }
  }
  const auto elements = static_cast<std::size_t>(count);
  if (count > limits.tensor_elements) {
    // A shape is quickly said: only of one whose data are there it is our limit that is in the way.
    const bool there = proto.data_location() == onnx::TensorProto::EXTERNAL ||
                       proto.raw_data().size() / element_bits == elements / CHAR_BIT;
    const std::string what = fmt::format("tensor \"{}\" declares shape {}", proto.name(), core::shape_text(shape));
    return there ? limit_error(what + fmt::format(", {} elements", count),
                               static_cast<std::uintmax_t>(limits.tensor_elements), proto.name())
                 : model_error(fmt::format("{}, and holds less than these {} elements", what, count), {}, {},
                               proto.name());
  }
  if (proto.has_segment()) {
    return model_error(fmt::format("tensor \"{}\" is stored in segments, which ONNX has withdrawn", proto.name()), {},
                       {}, proto.name());
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    core::Result<std::string> bytes = external_bytes(proto, folder, (elements * element_bits + 7) / 8);
    if (!bytes) {
      return bytes.error();
    }
    return named(proto, decode_raw(type, std::move(shape), *bytes));
  }
  if (proto.has_raw_data()) {
    return named(proto, decode_raw(type, std::move(shape), proto.raw_data()));
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
  proto.set_raw_data(encode_raw(tensor));
  return proto;
}

}  // namespace assay::model::proto
