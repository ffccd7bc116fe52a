#pragma once

#include <span>

namespace assay::reference {

/// Mean and population variance of `values`, and what normalizing divides by.
struct Moments {
  double mean = 0.0;
  double variance = 0.0;

  [[nodiscard]] double inverse_deviation(double epsilon) const;
};
[[nodiscard]] Moments moments(std::span<const double> values);

/// values = (values - mean) / sqrt(variance + epsilon) with their own moments, which are returned.
Moments standardize(std::span<double> values, double epsilon);

}  // namespace assay::reference
