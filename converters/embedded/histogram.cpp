#include "converters/embedded/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::embedded {
namespace {

/// Entropy keeps at least this many bins, each a level of a signed 8-bit magnitude.
constexpr std::size_t kLevels = 128;
/// Candidates for the entropy cut lie this share of all bins apart.
constexpr std::size_t kEntropyCandidates = 256;
/// Fewer values than this per bin, and the divergence sees gaps between samples instead of their distribution.
constexpr std::uint64_t kValuesPerBin = 4;
/// Candidates for the MSE factor: 1.00, 0.99 … 0.30.
constexpr int kMseCandidates = 71;
constexpr double kMseStep = 0.01;

/// Sums over the first bins of a histogram, so that every candidate for the cut costs a step a level.
class BinSums {
 public:
  explicit BinSums(const std::vector<std::uint64_t>& counts) : sums_(counts.size() + 1) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto count = static_cast<double>(counts[i]);
      sums_[i + 1] = sums_[i];
      sums_[i + 1].values += count;  // whole numbers: exact in any order
      if (counts[i] == 0) continue;
      sums_[i + 1].values_log += count * std::log(count);
      sums_[i + 1].occupied += 1;
    }
  }

  /// KL divergence of the first `bins` bins, everything beyond counted in the last, from the same merged into kLevels:
  /// Σ p·ln p - Σ p·ln q over the total, where q is constant in a level. Counts of samples scatter: that alone makes a
  /// divergence of (bins - levels) / (2 samples) on average, more for wide ranges than for narrow ones, and is taken
  /// off.
  [[nodiscard]] double divergence(std::size_t bins) const {
    const double total = sums_.back().values, inside = sums_[bins].values, beyond = total - inside;
    if (total == 0 || inside == 0) return std::numeric_limits<double>::infinity();
    const double last = inside - sums_[bins - 1].values;
    double result = sums_[bins].values_log + total * (std::log(inside) - std::log(total));
    if (beyond > 0) {
      result += (last + beyond) * std::log(last + beyond) - (last > 0 ? last * std::log(last) : 0);
      // A last bin that holds nothing but what lies beyond has no counterpart: as good as the smallest count.
      if (last == 0) result -= beyond * std::log(kNoCount);
    }
    double freedom = 0;
    for (std::size_t level = 0; level < kLevels; ++level) {
      const std::size_t end = (level + 1) * bins / kLevels;
      const Sums &low = sums_[level * bins / kLevels], &high = sums_[end];
      const double sum = high.values - low.values, occupied = high.occupied - low.occupied;
      if (sum == 0) continue;
      freedom += occupied - 1;
      result -= (end == bins && last > 0 ? sum + beyond : sum) * std::log(sum / occupied);
    }
    return (result - freedom / 2) / total;
  }

 private:
  static constexpr double kNoCount = 1e-9;
  struct Sums {
    double values = 0, values_log = 0, occupied = 0;  ///< Σ p, Σ p·ln p, number of p > 0
  };
  std::vector<Sums> sums_;  ///< element i is over the first i bins
};

/// Neighbouring bins joined until they hold enough values each, or are only twice as many as levels.
std::vector<std::uint64_t> joined_bins(std::vector<std::uint64_t> counts) {
  std::uint64_t total = 0;
  for (const auto count : counts) total += count;
  while (counts.size() > 2 * kLevels && total < kValuesPerBin * counts.size()) {
    for (std::size_t i = 0; i < counts.size() / 2; ++i) counts[i] = counts[2 * i] + counts[2 * i + 1];
    counts.resize(counts.size() / 2);
  }
  return counts;
}

}  // namespace

void Histogram::add(std::span<const float> values) {
  const double scale = width() > 0 ? 1.0 / width() : 0.0;
  for (const float value : values) {
    if (value == 0.0F) ++zeros_;
    const double position =
        std::clamp((static_cast<double>(value) - range_.low) * scale, 0.0, static_cast<double>(kBins - 1));
    ++counts_[static_cast<std::size_t>(position)];
  }
  total_ += values.size();
}

Histogram Histogram::magnitudes() const {
  Histogram result(Range{0, std::max(std::fabs(range_.low), std::fabs(range_.high))});
  const double scale = result.width() > 0 ? 1.0 / result.width() : 0.0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double position = std::min(std::fabs(middle(bin)) * scale, static_cast<double>(kBins - 1));
    result.counts_[static_cast<std::size_t>(position)] += counts_[bin];
  }
  result.total_ = total_;
  result.zeros_ = zeros_;
  return result;
}

Range entropy_range(const Histogram& histogram) {
  const auto magnitudes = histogram.magnitudes();
  auto counts = magnitudes.counts();
  counts[0] -= std::min(counts[0], magnitudes.zeros());
  counts = joined_bins(std::move(counts));
  const BinSums sums(counts);
  const std::size_t stride = std::max<std::size_t>(1, counts.size() / kEntropyCandidates);
  std::size_t best = counts.size();
  double least = sums.divergence(best);
  for (auto bins = kLevels; bins < counts.size(); bins += stride) {
    const double candidate = sums.divergence(bins);
    if (candidate < least) {
      least = candidate;
      best = bins;
    }
  }
  const double limit = magnitudes.range().high * static_cast<double>(best) / static_cast<double>(counts.size());
  const auto& range = histogram.range();
  return {std::max(range.low, -limit), std::min(range.high, limit)};
}

Range percentile_range(const Histogram& histogram, double percent, bool symmetric) {
  const auto& range = histogram.range();
  const double outside = static_cast<double>(histogram.total()) * (100.0 - percent) / 100.0;
  if (symmetric) {
    const auto magnitudes = histogram.magnitudes();
    double left = outside;
    std::size_t top = Histogram::kBins;
    while (top > 1 && left >= static_cast<double>(magnitudes.counts()[top - 1])) {
      left -= static_cast<double>(magnitudes.counts()[--top]);
    }
    const double limit = static_cast<double>(top) * magnitudes.width();
    return {std::max(range.low, -limit), std::min(range.high, limit)};
  }
  const auto& counts = histogram.counts();
  std::size_t bottom = 0;
  for (double left = outside / 2; bottom + 1 < counts.size() && left >= static_cast<double>(counts[bottom]); ++bottom) {
    left -= static_cast<double>(counts[bottom]);
  }
  std::size_t top = counts.size();
  for (double left = outside / 2; top > bottom + 1 && left >= static_cast<double>(counts[top - 1]); --top) {
    left -= static_cast<double>(counts[top - 1]);
  }
  return {range.low + static_cast<double>(bottom) * histogram.width(),
          top == counts.size() ? range.high : range.low + static_cast<double>(top) * histogram.width()};
}

Range mse_range(const Histogram& histogram, bool symmetric, double levels) {
  const auto& range = histogram.range();
  Range full{std::min(range.low, 0.0), std::max(range.high, 0.0)};
  if (symmetric) {
    const double limit = std::max(-full.low, full.high);
    full = {-limit, limit};
  }
  double best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMseCandidates; ++i) {
    const double factor = 1 - kMseStep * i;
    const Range cut{full.low * factor, full.high * factor};
    const double step = (cut.high - cut.low) / levels;
    double error = static_cast<double>(histogram.total() - histogram.zeros()) * step * step / 12;
    for (std::size_t bin = 0; bin < Histogram::kBins; ++bin) {
      const double value = histogram.middle(bin);
      const double clipped = value - std::clamp(value, cut.low, cut.high);
      error += static_cast<double>(histogram.counts()[bin]) * clipped * clipped;
    }
    if (error < least) {
      least = error;
      best = factor;
    }
  }
  return {std::max(range.low, full.low * best), std::min(range.high, full.high * best)};
}

}  // namespace assay::embedded
