#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/tensor.hpp"

namespace assay::judge {

/// Smallest and largest value of one tensor over the calibration batches, and what a float32 execution may add.
struct TensorRange {
  double low = 0, high = 0;  ///< over all batches (float64 reference)
  double inner_low = 0;      ///< largest of the per-sample minima: averaging can't go nearer to zero
  double inner_high = 0;     ///< smallest of the per-sample maxima
  double first = 0;          ///< largest magnitude in the first batch
  double batch_low = 0;      ///< sum over the batches of their minima
  double batch_high = 0;     ///< and of their maxima
  double batch_extent = 0;   ///< and of their largest magnitudes
  double widened_low = 0;    ///< sum over the batches of their minima, or of 0 where that is less
  double widened_high = 0;   ///< and of their maxima, or of 0 where that is more
  double quantile_low = 0;   ///< sum over the batches of their own lower quantiles; only where these were asked for
  double quantile_high = 0;  ///< and of their upper ones
  std::size_t batches = 0;   ///< that had values
  double slack = 0;          ///< bound on the float32 forward error of an extreme (docs/oracle.md, L0)
  bool finite = true;        ///< no NaN or infinity among the values
  bool is_input = false;     ///< a graph input: exact but for rounding, slack 0
  std::int64_t samples = 0;  ///< number of values seen
  core::Shape shape;         ///< of the last batch
};
using RangeTable = std::map<std::string, TensorRange>;

/// Some range's scale would lie below float32's least normal number, where it may be any: no noise is certain.
[[nodiscard]] bool any_free_scale(const RangeTable& ranges);

/// How many batches go into the means of channels: those that NNCF corrects biases with.
inline constexpr std::size_t kMeanBatches = 60;

struct ChannelMeans {
  std::vector<double> along_channels, along_last;
};

/// What the range pass over the calibration data gives.
struct CalibrationRanges {
  RangeTable ranges;
  /// All values of each tensor, sorted; only where they were asked for (percentile, a search).
  std::map<std::string, std::vector<double>> sorted_values;
  /// Extremes of each index along axis 1; only where they were asked for.
  std::map<std::string, std::vector<std::pair<double, double>>> channels;
  /// Mean of each index along axis 1 (that of channels) and along the last (that of a matrix' columns): the mean over
  /// the first kMeanBatches batches of each one's. Only where they were asked for.
  std::map<std::string, ChannelMeans> means;
  /// The scales that a search of the least divergence may have found; only where the policy tells which search it was.
  std::map<std::string, std::vector<double>> searched = {};
};

/// What a range pass keeps beside the ranges.
struct KeptOfRanges {
  bool values = false, channels = false, means = false;
  double batch_share = 0;  ///< of each batch's values that lie below its own upper quantile, 0.9999; 0: no quantiles
};

}  // namespace assay::judge
