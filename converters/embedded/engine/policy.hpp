#pragma once

#include <optional>

namespace assay::embedded::engine {

/// How a real value becomes an integer.
enum class Rounding {
  half_even,  ///< nearest, ties to even: ONNX's QuantizeLinear
  half_away,  ///< nearest, ties away from zero
  half_up,    ///< nearest, ties towards plus infinity
  truncate,   ///< towards zero
  floor,      ///< towards minus infinity
};

/// How an accumulator is brought to the output's scale. M is s_x * s_w / s_y.
enum class Requantization {
  float64_multiply,  ///< acc * M in float64: closer to the exact quotient than any tie can tell
  float32_multiply,  ///< float32(acc) * float32(M)
  reciprocal,        ///< float32(acc) * float32(s_x * s_w) * float32(1 / s_y)
  fixed_point,       ///< acc * m >> n in 64 bits, rounded once; m has `multiplier_bits` bits
  float16_multiply,  ///< the product acc * M is rounded to float16
  double_rounding,   ///< high half of 2 * acc * m rounded, then a rounding shift: two roundings, both ties away
};

/// Where the output's zero_point comes in: after rounding (ONNX) or before (ties move with an odd zero_point).
enum class ZeroPointOrder { after_rounding, before_rounding };

/// What a padded position of a convolution holds: the code of real zero, or the code 0.
enum class PadCode { zero_point, zero };

/// What happens to a value outside its type.
enum class Saturation {
  clamp,
  wrap,
  narrow,             ///< the lowest code of a signed type is never used
  signed_high,        ///< unsigned codes end where signed ones do, at 127
  before_zero_point,  ///< clamped to the type's ends before the zero_point is added, and once more after
};

/// How products are summed.
enum class Accumulator {
  int32,        ///< 32 bits; a node whose sums could leave them runs in float
  int16,        ///< 16 bits, wrapping
  int24,        ///< 24 bits, wrapping
  int16_pairs,  ///< each two neighbouring products are summed with saturation at 16 bits, those sums in 32
};

enum class BiasUse { add, drop };

/// The code below which a fused Relu cuts: the output's zero_point, or 0.
enum class ReluFloor { zero_point, zero };

/// What AveragePool divides by: the elements that ONNX counts, or always the whole kernel.
enum class AverageDivisor { counted, kernel };

/// What becomes of codes that only move (Concat, Reshape, MaxPool …) between unlike parameters.
enum class MovedCodes { requantize, copy };

/// What Add and Sub do with operands of unlike scale.
enum class OperandScales { each, first };

/// Whether an operand's zero_point is taken off before multiplying.
enum class ZeroPoints { subtract, ignore };

/// In which type DequantizeLinear takes the zero_point off: one that holds every difference, or the codes' own,
/// wrapping.
enum class CodeDifference { wide, own_type };

/// Which of the per-axis scales serves an output channel.
enum class ChannelScales { own, first, reversed };

/// The engine's arithmetic. The defaults are ONNX's; every field also has the other correct ways that real engines
/// choose, and ways that are known defects. Kernels follow the fields and do not know which is which.
struct ArithmeticPolicy {
  Rounding rounding = Rounding::half_even;
  Requantization requantization = Requantization::float64_multiply;
  int multiplier_bits = 31;                                       ///< of `fixed_point` and `double_rounding`
  std::optional<Rounding> mean_rounding = std::nullopt;           ///< of averages, where they round otherwise
  std::optional<Rounding> interpolation_rounding = std::nullopt;  ///< of Resize between codes, likewise
  ZeroPointOrder zero_point_order = ZeroPointOrder::after_rounding;
  PadCode pad = PadCode::zero_point;
  Saturation saturation = Saturation::clamp;
  Accumulator accumulator = Accumulator::int32;
  BiasUse bias = BiasUse::add;
  ReluFloor relu_floor = ReluFloor::zero_point;
  AverageDivisor average_divisor = AverageDivisor::counted;
  MovedCodes moved_codes = MovedCodes::requantize;
  OperandScales operand_scales = OperandScales::each;
  ZeroPoints activation_zero_points = ZeroPoints::subtract;
  ZeroPoints weight_zero_points = ZeroPoints::subtract;
  ChannelScales channel_scales = ChannelScales::own;
  CodeDifference code_difference = CodeDifference::wide;

  friend bool operator==(const ArithmeticPolicy&, const ArithmeticPolicy&) = default;
};

}  // namespace assay::embedded::engine
