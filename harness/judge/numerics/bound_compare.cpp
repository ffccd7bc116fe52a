#include "harness/judge/numerics/bound_compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::judge {

double storage_error(double value) { return 2 * kFloatUnit * std::fabs(value) + 0x1p-149; }

bool is_zero_limit(double limit) { return limit < 0x1p-126; }

Excess compare_bounds(const Enclosure& enclosure, std::span<const double> actual) {
  // What nothing rounds any more may hold its error as a relative one alone: a product of constants in float32.
  const Enclosure ends = with_explicit_ends(enclosure);
  const std::span<const double> expected = ends.centre->reals();
  const std::span<const double> lows = ends.low_or_centre().reals(), highs = ends.high_or_centre().reals();
  Excess excess;
  excess.elements = static_cast<std::int64_t>(expected.size());
  double low = 0, high = 0;
  for (const double value : expected) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  constexpr double kJustBelow = 1 - 0x1p-50;  // what stays below the margin so far by more than a rounding
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(actual[i] - expected[i]);
    const double side = actual[i] < expected[i] ? expected[i] - lows[i] : highs[i] - expected[i];
    const double limit = std::max(side, 0.0) + storage_error(expected[i]);
    const bool inside = error <= limit;  // false for NaN
    excess.wrong += inside ? 0 : 1;
    const bool vacuous = std::min(expected[i] - lows[i], highs[i] - expected[i]) >= high - low;
    excess.vacuous += vacuous ? 1 : 0;
    const double to_zero = expected[i] < 0 ? highs[i] - expected[i] : expected[i] - lows[i];
    const double from_zero = expected[i] < 0 ? expected[i] - lows[i] : highs[i] - expected[i];
    excess.rules_out_nothing =
        excess.rules_out_nothing || std::fabs(expected[i]) > to_zero + storage_error(expected[i]);
    excess.rules_out_more =
        excess.rules_out_more || std::fabs(expected[i]) / 4 > from_zero + storage_error(expected[i]);
    if (i > 0 && error <= excess.margin * limit * kJustBelow) {
      continue;
    }
    excess.not_a_number = excess.not_a_number || std::isnan(actual[i]);
    const double margin = std::isnan(error) ? std::numeric_limits<double>::infinity() : error / limit;
    if (margin > excess.margin || i == 0) {
      excess.margin = margin;
      excess.worst = static_cast<std::int64_t>(i);
      excess.expected = expected[i];
      excess.actual = actual[i];
      excess.limit = limit;
      excess.worst_vacuous = vacuous;
    }
  }
  if (excess.margin > 1 && is_zero_limit(excess.limit)) excess.margin = std::numeric_limits<double>::infinity();
  return excess;
}

}  // namespace assay::judge
