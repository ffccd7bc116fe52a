#include "harness/judge/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace assay::judge {

double alarm_exponent(const LayerContext& context, double share) {
  return std::log(2 * std::max(context.judged_elements, 1.0) / (share * kFalseAlarmRate));
}

double sum_limit(double variance, double exponent) { return std::sqrt(2 * exponent * variance); }

double energy_limit(const Spread& spread, double exponent) {
  return spread.trace + 2 * std::sqrt(spread.largest * spread.trace * exponent) + 2 * spread.largest * exponent;
}

}  // namespace assay::judge
