#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "converters/embedded/engine/buffer.hpp"
#include "converters/embedded/engine/loops.hpp"
#include "converters/embedded/engine/policy.hpp"

namespace assay::embedded::engine {

/// The codes that a result is written in, or float32 where nothing quantizes it. A fused Relu or Clip narrows low and
/// high.
struct OutputCodes {
  DType type = DType::int8;
  double scale = 1;
  std::int64_t zero_point = 0;
  std::int64_t low = -128;
  std::int64_t high = 127;
};

/// The limits of codes of `type` around `zero_point`, not narrowed.
[[nodiscard]] OutputCodes output_codes(DType type, double scale, std::int64_t zero_point);

/// `value` to an integer, as `rounding` says.
[[nodiscard]] double round_value(double value, Rounding rounding);

/// The code of a real value given in units of out.scale: round, add zero_point, limit, as the policy says.
/// A NaN becomes the zero_point.
[[nodiscard]] std::int64_t finish_integer(double value, const OutputCodes& out, const ArithmeticPolicy& policy);
/// The same of codes of 8 bits.
[[nodiscard]] std::uint8_t finish_code(double value, const OutputCodes& out, const ArithmeticPolicy& policy);

/// A positive factor as an integer of so many bits and a right shift: factor = multiplier * 2^-shift.
struct FixedPoint {
  std::int64_t multiplier = 0;
  int shift = 0;
};
[[nodiscard]] FixedPoint fixed_point(double factor, int bits);

/// product * 2^-shift, rounded once; saturates at 64 bits when shifted left.
[[nodiscard]] std::int64_t shift_rounded(std::int64_t product, int shift, Rounding rounding);

/// Brings int32 accumulators to output codes: clamp(round((acc + bias) * in_scale / out.scale) + zero_point).
/// In-scales are per tensor (one) or per channel; biases are empty or one per channel, as are addends, which are real
/// biases in units of the accumulator.
class Requantizer {
 public:
  Requantizer(const ArithmeticPolicy& policy, const OutputCodes& out, std::span<const double> in_scales,
              std::span<const std::int32_t> biases = {}, std::span<const double> addends = {});

  /// A row of accumulators that belong to one channel, to one byte each.
  void row(const std::int32_t* acc, std::int64_t count, std::int64_t channel, std::uint8_t* codes) const;
  /// The same to real values, where the result is left in float: (acc + bias) * in_scale, rounded once.
  void row(const std::int32_t* acc, std::int64_t count, std::int64_t channel, float* reals) const;
  /// One accumulator.
  [[nodiscard]] std::uint8_t code(std::int32_t acc, std::int64_t channel) const;

 private:
  struct Channel {
    double in_scale = 1;
    double addend = 0;
    std::int32_t bias = 0;
    FixedPoint fixed;
    RequantizeRow fast;
  };
  [[nodiscard]] const Channel& channel_at(std::int64_t channel) const {
    return channels_[channels_.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
  [[nodiscard]] double biased(std::int32_t acc, const Channel& channel) const;
  [[nodiscard]] std::uint8_t general_code(std::int32_t acc, const Channel& channel) const;

  ArithmeticPolicy policy_;
  OutputCodes out_;
  bool is_default_ = true;
  std::vector<Channel> channels_;
};

/// Brings sums of two codes, each with its own scale, to output codes: (first * first_scale + second * second_scale) /
/// out.scale. The second scale is negative for a difference.
class SumRequantizer {
 public:
  SumRequantizer(const ArithmeticPolicy& policy, const OutputCodes& out, double first_scale, double second_scale);

  /// The default arithmetic in numbers for a loop: round(clamp(first * a + second * b)) + zero_point.
  struct Fast {
    double first = 1;
    double second = 1;
    double low = -128;
    double high = 127;
    double zero_point = 0;
  };
  /// Null where the policy asks for another arithmetic.
  [[nodiscard]] const Fast* fast() const { return is_default_ ? &fast_ : nullptr; }
  [[nodiscard]] std::uint8_t code(std::int32_t first, std::int32_t second) const;

 private:
  ArithmeticPolicy policy_;
  OutputCodes out_;
  bool is_default_ = true;
  Fast fast_;
  double first_scale_, second_scale_;
  std::int64_t first_fixed_ = 0, second_fixed_ = 0;
  int shift_ = 0;
};

/// Narrows `out` to the codes of values from `low` to `high` (either may be left out), as a Clip does. Rounding is
/// monotonic, so limiting codes and limiting values is the same.
void narrow(OutputCodes& out, std::optional<double> low, std::optional<double> high, const ArithmeticPolicy& policy);
/// Narrows `out` as a Relu does.
void narrow_to_relu(OutputCodes& out, const ArithmeticPolicy& policy);

/// The table that brings codes of one tensor to another's parameters; entry i serves the byte i. With
/// MovedCodes::copy the codes stay as they are.
[[nodiscard]] std::vector<std::uint8_t> moved_codes_table(const ArithmeticPolicy& policy, DType in_type,
                                                          double in_scale, std::int64_t in_zero_point,
                                                          const OutputCodes& out);

/// The value of byte `byte` as a code of `type`.
[[nodiscard]] inline std::int32_t code_value(std::uint8_t byte, DType type) {
  return type == DType::int8 ? static_cast<std::int32_t>(static_cast<std::int8_t>(byte)) : byte;
}

}  // namespace assay::embedded::engine
