#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "converters/converter.hpp"
#include "harness/core/dtype.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/enclosures/enclosure.hpp"
#include "harness/judge/evidence/style_name.hpp"

namespace assay::judge {

/// Which neighbour a value half way between two integers goes to.
enum class Ties {
  even,                   ///< ONNX: round half to even, then add zero_point
  even_after_zero_point,  ///< add zero_point, then round half to even
  away,                   ///< away from zero
  up,                     ///< towards plus infinity
  either,                 ///< both are accepted
};

/// How a graph input is quantized: nothing but the input itself is uncertain there, so the code is exact.
enum class InputDivision {
  exact,       ///< x / scale in float64 or wider
  float32,     ///< one float32 division
  reciprocal,  ///< float32(x · float32(1 / scale))
  any,         ///< any of these, either neighbour of a tie
};

/// One way in which engines compute a quantized graph. It must explain every element of every data set.
struct Style {
  StyleName name = StyleName::exact;
  Ties ties = Ties::even;
  InputDivision input = InputDivision::exact;
  Arithmetic arithmetic;
  Ties input_ties = Ties::even;  ///< of graph inputs, where `ties` is either: a step of its own before the integers
  double dequantize_error = 0;   ///< relative error of (code − zero_point)·scale
  double divide_error = 0;       ///< relative error of the division by the output's scale, or of what stands for it
};

/// All styles that a converter of this stated arithmetic may have, narrowest first.
[[nodiscard]] std::span<const Style> styles_for(const converters::Policy& policy);

/// A style whose intervals hold those of every one of `styles`; nothing where they sum in unlike arithmetic.
[[nodiscard]] std::optional<Style> style_hull(std::span<const Style> styles);

/// `value` rounded by the rule; `either` rounds half to even. zero_point is not added.
[[nodiscard]] double round_by(Ties ties, double value, std::int64_t zero_point);

/// Code intervals of a real tensor quantized with `params`, for every real within `x`. `is_input` says that `x` is a
/// graph input (InputDivision applies).
/// Errors   invalid_model where the axis does not fit; invalid_data on NaN.
[[nodiscard]] core::Result<Enclosure> quantize_enclosure(const Enclosure& x, const core::QuantParams& params,
                                                         const Style& style, bool is_input);

/// Real values of a code tensor. Errors   invalid_model where the axis does not fit.
[[nodiscard]] core::Result<Enclosure> dequantize_enclosure(const Enclosure& codes, const core::QuantParams& params,
                                                           const Style& style);

/// Codes that contain `value` before it was rounded to them by `params` and cut off where they end: one more on either
/// side, and beyond the last one as many as the value lies beyond it.
[[nodiscard]] Enclosure as_if_unrounded(const Enclosure& codes, const Enclosure& value,
                                        const core::QuantParams& params);

}  // namespace assay::judge
