#include "harness/judge/evidence/deviation.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace assay::judge {

Deviation& Deviation::operator+=(const Deviation& other) {
  signal += other.signal;
  energy += other.energy;
  product += other.product;
  noise += other.noise;
  largest = std::isnan(largest) || std::isnan(other.largest) ? std::nan("") : std::max(largest, other.largest);
  return *this;
}

double Deviation::sqnr_db() const {
  constexpr double kDecibel = 10;
  return signal > 0 ? kDecibel * std::log10(signal / noise) : std::nan("");
}

double Deviation::cosine() const {
  return energy > 0 && signal > 0 ? product / std::sqrt(signal * energy) : std::nan("");
}

namespace {

/// The tensor's own values, or `storage` with them where they are integers.
std::span<const double> reals_of(const core::Tensor& tensor, std::vector<double>& storage) {
  if (tensor.is_real()) {
    return tensor.reals();
  }
  storage = tensor.to_reals();
  return storage;
}

}  // namespace

Deviation measure_deviation(const core::Tensor& expected, const core::Tensor& actual) {
  Deviation sums;
  std::vector<double> converted_wanted, converted_given;
  const std::span<const double> wanted = reals_of(expected, converted_wanted);
  const std::span<const double> given = reals_of(actual, converted_given);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double want = wanted[i];
    const double got = given[i];
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
