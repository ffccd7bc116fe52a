#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/embedded/state.hpp"

namespace assay::embedded {

/// Counts of values in equal bins over the range that min-max found.
class Histogram {
 public:
  static constexpr std::size_t kBins = 2048;

  explicit Histogram(const Range& range) : range_(range), counts_(kBins, 0) {}
  /// Values outside the range count in the outermost bin.
  void add(std::span<const float> values);
  [[nodiscard]] const Range& range() const { return range_; }
  [[nodiscard]] double width() const { return (range_.high - range_.low) / static_cast<double>(kBins); }
  [[nodiscard]] double middle(std::size_t bin) const { return range_.low + (static_cast<double>(bin) + 0.5) * width(); }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Exact zeros: they are represented exactly whatever the range, so that the methods below need not weigh them.
  [[nodiscard]] std::uint64_t zeros() const { return zeros_; }
  /// The same counts over magnitudes, from 0 to the largest.
  [[nodiscard]] Histogram magnitudes() const;

 private:
  Range range_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t zeros_ = 0;
};

/// Cuts both sides at the magnitude whose 128-level distribution diverges least (Kullback-Leibler) from the observed
/// one: at least 128 of 2048 bins, at most everything.
[[nodiscard]] Range entropy_range(const Histogram& histogram);
/// Leaves `percent` of the values inside: symmetric by magnitude, else half of the rest beyond each end. Ends lie on
/// bin edges, outwards.
[[nodiscard]] Range percentile_range(const Histogram& histogram, double percent, bool symmetric);
/// Shrinks the range by the factor with the least squared error of `levels` steps: clipping plus rounding.
[[nodiscard]] Range mse_range(const Histogram& histogram, bool symmetric, double levels);

}  // namespace assay::embedded
