#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::core {

/// Element types, numbered as in ONNX's TensorProto.DataType.
enum class DType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

/// True for the floating-point types of any size: values are stored as double.
[[nodiscard]] bool is_real(DType type);

/// True for the integer types and boolean: values are stored as int64.
[[nodiscard]] bool is_integer(DType type);

/// True for the types that QuantizeLinear makes: the integer ones, and float8e4m3fn, float8e5m2 and float4e2m1, which
/// hold numbers.
[[nodiscard]] bool is_code_type(DType type);

/// ONNX's lower-case name ("float", "int8", "bool", …).
[[nodiscard]] std::string_view dtype_name(DType type);

/// The type called `name` ("float" and "float32" are the same), or nothing.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name);

/// Bits of one element in ONNX's raw form; 0 for string and undefined.
[[nodiscard]] std::size_t element_size_bits(DType type);

/// Smallest and largest value of an integer type (uint64 is cut at int64's largest), and the finite ends of
/// float8e4m3fn, float8e5m2 and float4e2m1, which are integers too: between these lie the codes of a quantizer.
struct IntegerLimits {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
[[nodiscard]] IntegerLimits integer_limits(DType type);

}  // namespace assay::core
