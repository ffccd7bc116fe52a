#include "harness/judge/deviation.hpp"

#include <algorithm>
#include <cmath>

namespace assay::judge {

double Deviation::sqnr_db() const {
  constexpr double kDecibel = 10;
  return signal > 0 ? kDecibel * std::log10(signal / noise) : std::nan("");
}

double Deviation::cosine() const {
  return energy > 0 && signal > 0 ? product / std::sqrt(signal * energy) : std::nan("");
}

Deviation measure_deviation(const core::Tensor& expected, const core::Tensor& actual) {
  Deviation sums;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double want = expected.as_real(i);
    const double got = actual.as_real(i);
    const double error = want == got ? 0 : want - got;
    sums.signal += want * want;
    sums.energy += got * got;
    sums.product += want * got;
    sums.noise += error * error;
    // A NaN stays: max returns its first argument where the comparison is false.
    sums.largest = std::isnan(error) ? error : std::max(sums.largest, std::fabs(error));
  }
  return sums;
}

}  // namespace assay::judge
