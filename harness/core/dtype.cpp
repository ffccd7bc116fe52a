#include "harness/core/dtype.hpp"

#include <array>
#include <limits>

namespace assay::core {
namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  std::size_t size_bits;
  bool real;
};

constexpr std::array kTypes = {
    DTypeRow{DType::float32, "float", 32, true},
    DTypeRow{DType::uint8, "uint8", 8, false},
    DTypeRow{DType::int8, "int8", 8, false},
    DTypeRow{DType::uint16, "uint16", 16, false},
    DTypeRow{DType::int16, "int16", 16, false},
    DTypeRow{DType::int32, "int32", 32, false},
    DTypeRow{DType::int64, "int64", 64, false},
    DTypeRow{DType::string, "string", 0, false},
    DTypeRow{DType::boolean, "bool", 8, false},
    DTypeRow{DType::float16, "float16", 16, true},
    DTypeRow{DType::float64, "double", 64, true},
    DTypeRow{DType::uint32, "uint32", 32, false},
    DTypeRow{DType::uint64, "uint64", 64, false},
    DTypeRow{DType::bfloat16, "bfloat16", 16, true},
    DTypeRow{DType::float8e4m3fn, "float8e4m3fn", 8, true},
    DTypeRow{DType::float8e4m3fnuz, "float8e4m3fnuz", 8, true},
    DTypeRow{DType::float8e5m2, "float8e5m2", 8, true},
    DTypeRow{DType::float8e5m2fnuz, "float8e5m2fnuz", 8, true},
    DTypeRow{DType::uint4, "uint4", 4, false},
    DTypeRow{DType::int4, "int4", 4, false},
    DTypeRow{DType::float4e2m1, "float4e2m1", 4, true},
    DTypeRow{DType::float8e8m0, "float8e8m0", 8, true},
    DTypeRow{DType::uint2, "uint2", 2, false},
    DTypeRow{DType::int2, "int2", 2, false},
};

const DTypeRow* find_row(DType type) {
  for (const DTypeRow& row : kTypes) {
    if (row.type == type) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool is_real(DType type) {
  const DTypeRow* row = find_row(type);
  return row != nullptr && row->real;
}

bool is_integer(DType type) {
  const DTypeRow* row = find_row(type);
  return row != nullptr && !row->real && row->size_bits != 0;
}

bool is_code_type(DType type) {
  return is_integer(type) || type == DType::float8e4m3fn || type == DType::float8e5m2 || type == DType::float4e2m1;
}

std::string_view dtype_name(DType type) {
  const DTypeRow* row = find_row(type);
  return row == nullptr ? "undefined" : row->name;
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

std::size_t element_size_bits(DType type) {
  const DTypeRow* row = find_row(type);
  return row == nullptr ? 0 : row->size_bits;
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
    case DType::float4e2m1:
      return {-6, 6};
    case DType::uint4:
      return {0, 15};
    case DType::int4:
      return {-8, 7};
    case DType::uint2:
      return {0, 3};
    case DType::int2:
      return {-2, 1};
    case DType::float8e4m3fn:
      return {-448, 448};
    case DType::float8e5m2:
      return {-57344, 57344};
    case DType::uint64:
      return {0, std::numeric_limits<std::int64_t>::max()};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

}  // namespace assay::core
