#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/tensor.hpp"
#include "harness/judge/enclosures/enclosure.hpp"

namespace assay::judge {

/// An element outside what an enclosure admits.
struct Difference {
  std::int64_t index = 0;
  double low = 0, high = 0;  ///< admissible, in codes or in reals
  double actual = 0;
  double steps = 0;  ///< distance from the interval in steps; 0 where no scale is known
};

/// What one tensor shows beside its enclosure.
struct Comparison {
  static constexpr std::size_t kShown = 10;

  std::string tensor;
  std::size_t node = 0;  ///< artifact node that made it
  bool traced = false;   ///< from the engine's trace, not an output
  bool codes = false;
  bool not_a_number = false;
  std::string misfit;  ///< says why nothing could be compared: another type or shape
  std::int64_t elements = 0, wrong = 0;
  std::int64_t ambiguous = 0;  ///< elements of which more than one code was admissible
  double worst_steps = 0;
  core::Shape shape;
  std::vector<Difference> shown;  ///< the first kShown

  [[nodiscard]] bool agrees() const { return wrong == 0 && misfit.empty(); }
};

/// Compares `actual` with what `expected` admits: codes exactly, reals within what storing them as float32 rounds off
/// and `level_error` more, which is what a level of one scale may be beside (code − zero_point)·scale. `unit`: of the
/// 16-bit floats in which the artifact stores them.
[[nodiscard]] Comparison compare_integers(const Enclosure& expected, const core::Tensor& actual, double level_error = 0,
                                          double unit = 0);

/// "y[0,1]: expected 3 to 4, actual 5".
[[nodiscard]] std::string difference_text(const Comparison& comparison, const Difference& difference);

}  // namespace assay::judge
