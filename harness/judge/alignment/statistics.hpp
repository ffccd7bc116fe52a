#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {

/// How a run's false-alarm probability α (kFalseAlarmRate) is divided among its kinds of tests. The shares sum to 1.
inline constexpr double kElementShare = 0.5;     ///< L2's gate on single elements
inline constexpr double kBiasShare = 0.125;      ///< means per tensor and channel
inline constexpr double kVarianceShare = 0.125;  ///< mean squares per tensor and channel
inline constexpr double kMeasuredShare = 0.25;   ///< gates at measured quantiles (measured_limits.hpp)

/// Fewer distinct outputs say too little about their noise: one code that falls the other way at a tie moves it.
inline constexpr std::size_t kDistinctOutputs = 1000;
/// Rounding errors are uniform, and so have no mass at 0, where at least so many codes are in use.
inline constexpr std::size_t kCodesInUse = 8;

/// ln(2N/(share·α)): each of at most N two-sided tests may alarm with probability share·α/N. N is
/// LayerContext::judged_elements, since no test sees less than one.
[[nodiscard]] double alarm_exponent(const LayerContext& context, double share);

/// What |Σe| of a linear form in independent draws stays below but for e^-L. `variance` is that of the sum; the draws
/// are sub-Gaussian with their own variance (uniform on a step).
[[nodiscard]] double sum_limit(double variance, double exponent);

/// Covariance of correlated errors e = A·u in independent sub-Gaussian draws u, as far as Σe² depends on it.
struct Spread {
  double trace = 0;    ///< sum of the variances
  double largest = 0;  ///< bound on the largest eigenvalue
};
/// What Σe² stays below but for e^-L: trace + 2·√(largest·trace·L) + 2·largest·L (Hsu, Kakade and Zhang 2012, with
/// tr Σ² ≤ largest·trace).
[[nodiscard]] double energy_limit(const Spread& spread, double exponent);

/// Counts unlike numbers up to `most`: a table of their bits, open addressing. All NaN of the same bits are one.
class DistinctCount {
 public:
  explicit DistinctCount(std::size_t most);
  void add(std::span<const double> values);
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  void add_bits(std::uint64_t bits);

  std::size_t most_;
  std::size_t count_ = 0;
  bool has_zero_ = false;             ///< bits 0 mark a free slot, so that 0 is counted apart
  std::vector<std::uint64_t> slots_;  ///< a power of two, at most half full
};
/// The same for one tensor.
[[nodiscard]] std::size_t distinct_values(std::span<const double> values, std::size_t most);

/// The mean of each index along `axis` of a tensor with elements.
[[nodiscard]] std::vector<double> means_along(const core::Tensor& tensor, std::size_t axis);

}  // namespace assay::judge
