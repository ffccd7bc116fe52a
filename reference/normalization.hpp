#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/op.hpp"

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

/// The whole of InstanceNormalization and GroupNormalization but for what sets them apart: the channels of each of
/// `groups` groups of x [N, C, spatial…] share mean and variance; scale (input 1) and bias (input 2) have `parameters`
/// values, one for each group or each channel. C is a multiple of both.
[[nodiscard]] Result<std::vector<Tensor>> normalize_groups(const OpCall& call, std::int64_t groups,
                                                           std::int64_t parameters);

}  // namespace assay::reference
