#include "reference/normalization.hpp"

#include <cmath>

namespace assay::reference {

double Moments::inverse_deviation(double epsilon) const { return 1.0 / std::sqrt(variance + epsilon); }

Moments moments(std::span<const double> values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    result.mean += value;
  }
  result.mean /= count;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean);
  }
  result.variance /= count;
  return result;
}

Moments standardize(std::span<double> values, double epsilon) {
  const Moments own = moments(values);
  const double deviation = std::sqrt(own.variance + epsilon);
  for (double& value : values) {
    value = (value - own.mean) / deviation;
  }
  return own;
}

}  // namespace assay::reference
