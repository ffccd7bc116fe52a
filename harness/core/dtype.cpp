#include "harness/core/dtype.hpp"

#include <array>
#include <limits>

namespace assay::core {
namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  std::size_t size_bytes;
};

constexpr std::array kTypes = {
    DTypeRow{DType::float32, "float", 4},  DTypeRow{DType::uint8, "uint8", 1},
    DTypeRow{DType::int8, "int8", 1},      DTypeRow{DType::uint16, "uint16", 2},
    DTypeRow{DType::int16, "int16", 2},    DTypeRow{DType::int32, "int32", 4},
    DTypeRow{DType::int64, "int64", 8},    DTypeRow{DType::string, "string", 0},
    DTypeRow{DType::boolean, "bool", 1},   DTypeRow{DType::float16, "float16", 2},
    DTypeRow{DType::float64, "double", 8}, DTypeRow{DType::uint32, "uint32", 4},
    DTypeRow{DType::uint64, "uint64", 8},  DTypeRow{DType::bfloat16, "bfloat16", 2},
};

}  // namespace

bool is_real(DType type) {
  return type == DType::float32 || type == DType::float64 || type == DType::float16 || type == DType::bfloat16;
}

bool is_integer(DType type) { return !is_real(type) && type != DType::string && type != DType::undefined; }

std::string_view dtype_name(DType type) {
  for (const DTypeRow& row : kTypes) {
    if (row.type == type) {
      return row.name;
    }
  }
  return "undefined";
}

std::optional<DType> parse_dtype(std::string_view name) {
  if (name == "float32") {
    return DType::float32;
  }
  if (name == "float64") {
    return DType::float64;
  }
  if (name == "boolean") {
    return DType::boolean;
  }
  for (const DTypeRow& row : kTypes) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::size_t element_size_bytes(DType type) {
  for (const DTypeRow& row : kTypes) {
    if (row.type == type) {
      return row.size_bytes;
    }
  }
  return 0;
}

IntegerLimits integer_limits(DType type) {
  switch (type) {
    case DType::uint8:
      return {0, 255};
    case DType::int8:
      return {-128, 127};
    case DType::uint16:
      return {0, 65535};
    case DType::int16:
      return {-32768, 32767};
    case DType::int32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DType::uint32:
      return {0, std::numeric_limits<std::uint32_t>::max()};
    case DType::boolean:
      return {0, 1};
    case DType::uint64:
      return {0, std::numeric_limits<std::int64_t>::max()};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

}  // namespace assay::core
