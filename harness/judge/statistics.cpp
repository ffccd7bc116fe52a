#include "harness/judge/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace assay::judge {

double alarm_exponent(const LayerContext& context, double share) {
  return std::log(2 * std::max(context.judged_elements, 1.0) / (share * kFalseAlarmRate));
}

double sum_limit(double variance, double exponent) { return std::sqrt(2 * exponent * variance); }

double energy_limit(const Spread& spread, double exponent) {
  return spread.trace + 2 * std::sqrt(spread.largest * spread.trace * exponent) + 2 * spread.largest * exponent;
}

std::size_t distinct_values(std::span<const double> values, std::size_t most) {
  std::unordered_set<double> seen;
  for (std::size_t i = 0; i < values.size() && seen.size() < most; ++i) {
    seen.insert(values[i]);
  }
  return seen.size();
}

}  // namespace assay::judge
