#pragma once

#include "harness/core/tensor.hpp"

namespace assay::judge {

/// How far the elements of a tensor lie from the expected ones, as sums over all of them.
struct Deviation {
  double signal = 0;   ///< sum of expected²
  double energy = 0;   ///< sum of actual²
  double product = 0;  ///< sum of expected * actual
  double noise = 0;    ///< sum of (expected - actual)²
  double largest = 0;  ///< largest |expected - actual|; NaN where one is

  Deviation& operator+=(const Deviation& other);
  /// Signal over noise in dB: infinite where nothing differs, NaN where there is no signal.
  [[nodiscard]] double sqnr_db() const;
  /// Between -1 and 1; NaN where either side is all zero.
  [[nodiscard]] double cosine() const;
};

/// Both of the same shape; equal infinities don't deviate.
[[nodiscard]] Deviation measure_deviation(const core::Tensor& expected, const core::Tensor& actual);

}  // namespace assay::judge
