#pragma once

#include <cstdint>

namespace assay::embedded::engine {

/// Rows and columns of one tile of a matrix product, the unit that stays in registers.
inline constexpr std::int64_t kTileRows = 6;
inline constexpr std::int64_t kTileColumns = 16;

/// Parameters of the default requantization of one channel: clamp((acc + bias + addend) * multiplier), round half to
/// even, add zero_point. `low` and `high` are limits of the rounded value, that is, without zero_point.
struct RequantizeRow {
  std::int32_t bias = 0;
  double addend = 0;
  double multiplier = 1;
  double low = -128;
  double high = 127;
  double zero_point = 0;
};

/// The inner loops, compiled for one kind of processor. Every version gives the same bytes: floats are multiplied and
/// then added in the order of the depth, integers are exact modulo 2^32.
struct Loops {
  /// c[r * stride + j] = sum over k of a[k * rows + r] * b[k * columns + j].
  void (*float_tile)(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t stride);
  /// The same over pairs of the depth: a holds rows x 2, b holds columns x 2 values per pair.
  void (*code_tile)(const std::int16_t* a, const std::int16_t* b, std::int64_t pairs, std::int32_t* c,
                    std::int64_t stride);
  /// y[i] += weight * x[i * step].
  void (*float_axpy)(float weight, const float* x, std::int64_t step, float* y, std::int64_t count);
  void (*code_axpy)(std::int32_t weight, const std::int16_t* x, std::int64_t step, std::int32_t* y, std::int64_t count);
  /// out[i] = code of acc[i], one byte each.
  void (*requantize_row)(const std::int32_t* acc, std::int64_t count, const RequantizeRow& row, std::uint8_t* out);
  /// out[2i] = even[i] - zero_point, out[2i+1] = odd[i] - zero_point, for codes given as bytes.
  void (*interleave_int8)(const std::int8_t* even, const std::int8_t* odd, std::int64_t count, std::int16_t zero_point,
                          std::int16_t* out);
  void (*interleave_uint8)(const std::uint8_t* even, const std::uint8_t* odd, std::int64_t count,
                           std::int16_t zero_point, std::int16_t* out);
};

/// The loops for this processor.
[[nodiscard]] const Loops& loops();

/// Each compiled version, for the test that they agree; the second is null where the processor lacks it.
[[nodiscard]] const Loops& plain_loops();
[[nodiscard]] const Loops* avx2_loops();

}  // namespace assay::embedded::engine
