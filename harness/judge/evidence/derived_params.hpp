#pragma once

#include <cstdint>

#include "converters/policy.hpp"
#include "harness/core/quant_params.hpp"

namespace assay::judge {

/// Of codes around zero over [low, high], divisor of them above it; under `full_range` one more below it.
[[nodiscard]] double symmetric_scale(double low, double high, double divisor, const converters::Policy& policy);

/// The largest power of two that isn't above `value`, which is positive.
[[nodiscard]] double power_below(double value);

/// What a scale may become that is rounded to the type in which the parameters store theirs.
struct StoredScales {
  double least = 0;
  double usual = 0;
  double most = 0;
};
/// Of the exact `scale` of a symmetric range of `steps` on one side.
///
/// Formula  a power of two (float8e8m0): 2^floor(log2 max|w|) ÷ 2^floor(log2 steps), as OCP's "Microscaling
/// Formats" 1.0
///          has it (6.3), up to the next power of two above the exact scale, under which nothing is cut off. A code:
///          the nearest, or the least where that is 0, within half its distance from the next. Else the scale itself.
[[nodiscard]] StoredScales stored_scales(const core::QuantParams& params, double scale, double steps,
                                         std::size_t channel);

/// How many steps lie on one side of a symmetric range: the policy's divisor is that of 8 bits, 127, 127.5 or 128, and
/// other types have as many less or more than half of theirs.
[[nodiscard]] double symmetric_steps(core::DType type, const converters::Policy& policy);
/// The code of zero under a symmetric scheme: 0, or the first code of the upper half of unsigned ones.
[[nodiscard]] std::int64_t centre_of(core::DType type);
/// Unsigned codes of 8 bits and more, of which symmetric schemes may leave one unused and put zero one below the
/// middle.
[[nodiscard]] bool is_wide_unsigned(core::DType type);
/// The code of real zero under some symmetric scheme; ONNX Runtime centres uint8 on 127 (uint16 on 32767), the others
/// on 128.
[[nodiscard]] bool is_centre(std::int64_t zero_point, core::DType type);

/// The policy `unsigned` "nonnegative" gives this range uint8 from zero on, whatever the options ask for.
[[nodiscard]] bool takes_unsigned(const converters::Policy& policy, double low, double high);

/// Exact parameters for the range [low, high] (zero is included first) under options and policy: s* and z*.
[[nodiscard]] core::QuantParams derive_params(double low, double high, core::DType type, bool symmetric,
                                              const converters::Policy& policy);

}  // namespace assay::judge
