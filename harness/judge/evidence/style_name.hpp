#pragma once

#include "harness/core/words.hpp"

namespace assay::judge {

/// What a judgement calls the arithmetic that explains the values: of engines (execution_style.cpp says what each
/// rounds), and of the judge's own walks, which no judgement names.
enum class StyleName {
  half_even,
  half_away,
  half_up,
  half_even_after_zero_point,
  fixed_31,
  float_multiply,
  reciprocal,
  double_rounding,
  rounded_bias,
  float32,
  storage,     ///< conformance: the rounding of a stored value to its type
  arithmetic,  ///< conformance: that, and the rounding of every float operation
  statistics,  ///< conformance: that, and a statistical limit
  hull,        ///< whatever one of several styles allows
  exact,
  constant,
  original,
};
constexpr auto words(StyleName /*of*/) {
  using enum StyleName;
  return core::word_table<StyleName>({{half_even, "half_even"},
                                      {half_away, "half_away"},
                                      {half_up, "half_up"},
                                      {half_even_after_zero_point, "half_even_after_zero_point"},
                                      {fixed_31, "fixed_31"},
                                      {float_multiply, "float_multiply"},
                                      {reciprocal, "reciprocal"},
                                      {double_rounding, "double_rounding"},
                                      {rounded_bias, "rounded_bias"},
                                      {float32, "float32"},
                                      {storage, "storage"},
                                      {arithmetic, "arithmetic"},
                                      {statistics, "statistics"},
                                      {hull, "hull"},
                                      {exact, "exact"},
                                      {constant, "constant"},
                                      {original, "original"}});
}

}  // namespace assay::judge
