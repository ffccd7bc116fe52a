#pragma once

#include <cstdint>
#include <span>

#include "harness/judge/enclosures/enclosure.hpp"

namespace assay::judge {

/// An output element is stored as float32: what its two roundings may make of it.
[[nodiscard]] double storage_error(double value);

/// Below the least normal float32 a limit is what storage may make of an exact 0: nothing is rounded there, and an
/// error is infinitely many times as large.
[[nodiscard]] bool is_zero_limit(double limit);

/// What the comparison of one tensor with its bound shows.
struct Excess {
  std::int64_t wrong = 0, elements = 0, vacuous = 0;
  double margin = 0;  ///< largest |e| ÷ limit
  std::int64_t worst = 0;
  double expected = 0, actual = 0, limit = 0;
  /// Some element's limit rules out that the whole came out a quarter too large, and some that it came out as zeros.
  bool rules_out_more = false, rules_out_nothing = false;
  bool worst_vacuous = false;  ///< there the limit is no less than the extent of the tensor's own values
  bool not_a_number = false;
};

/// `ends` hold what correct quantization may give; on either side of their centre they are a limit of their own.
[[nodiscard]] Excess compare_bounds(const Enclosure& enclosure, std::span<const double> actual);

}  // namespace assay::judge
