#include "harness/judge/audit/range_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay::judge {
namespace {

/// Each range that is tried is a tenth narrower than the one before: the best lies within a twentieth, which moves s²
/// by a tenth at most.
constexpr double kNarrower = 0.9;
constexpr int kTried = 60;
/// Bins of the histograms of magnitudes that searches have; values have twice as many.
constexpr std::array<std::size_t, 4> kBins{256, 512, 1024, 2048};
/// Shares of the values that may lie beyond an end.
constexpr std::array kShares{0.0,  0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1,
                             0.15, 0.2,    0.3,   0.4,   0.5,   0.6,  0.7,  0.8,  0.9,  1.0};
constexpr double kCodesOfASide = 100;

double times_log(double count) { return count > 0 ? count * std::log(count) : 0; }

std::vector<double> magnitudes_of(std::vector<double> values) {
  for (double& value : values) value = std::fabs(value);
  std::ranges::sort(values);
  return values;
}

/// Whether a divergence says anything of where these values may be cut: there are many, next to no part of the range
/// holds much of them, and a twentieth lies within a quarter of the range around zero. Of few values, or of some that
/// lie on one place, each search finds another range by its own bins; where next to none are near zero it may keep
/// those few alone: they diverge from nothing.
bool are_spread(const std::vector<double>& sorted_values) {
  constexpr std::ptrdiff_t kFewest = 2000;
  constexpr double kNear = 1.0 / 4, kAroundZero = 1.0 / 20, kPlace = 1.0 / 256, kMostInOne = 1.0 / 16;
  const auto [first, last] = std::ranges::equal_range(sorted_values, 0.0);
  const auto count = std::ssize(sorted_values) - (last - first);
  if (count < kFewest) return false;
  const double extent = std::max(std::fabs(sorted_values.front()), std::fabs(sorted_values.back()));
  const auto within = [&](double low, double high) {
    return std::ranges::upper_bound(sorted_values, high) - std::ranges::lower_bound(sorted_values, low);
  };
  const auto share = [&](std::ptrdiff_t some) { return static_cast<double>(some) / static_cast<double>(count); };
  if (share(within(-kNear * extent, kNear * extent)) < kAroundZero) return false;
  // Any stretch that holds as many begins at a value.
  const auto most = static_cast<std::ptrdiff_t>(kMostInOne * static_cast<double>(count));
  const auto is_place = [&](auto from, auto to) {
    for (auto value = from; to - value > most; ++value) {
      if (value[most] - *value < kPlace * extent) return true;
    }
    return false;
  };
  return !is_place(sorted_values.begin(), first) && !is_place(last, sorted_values.end());
}

}  // namespace

double RangeCost::of(const core::QuantParams& params) const {
  const auto limits = core::integer_limits(params.type);
  const double scale = params.scale.front();
  const auto zero_point = static_cast<double>(params.zero_point.empty() ? 0 : params.zero_point.front());
  return of((static_cast<double>(limits.low) - zero_point) * scale,
            (static_cast<double>(limits.high) - zero_point) * scale, static_cast<double>(limits.high - limits.low));
}

Interval RangeCost::narrowest(const std::vector<double>& sorted_values, double levels, bool symmetric) const {
  const double low = std::min(sorted_values.front(), 0.0), high = std::max(sorted_values.back(), 0.0);
  const double extent = std::max(-low, high);
  const double limit = most(symmetric ? of(-extent, extent, levels) : of(low, high, levels));
  const std::vector<double> magnitudes = symmetric ? magnitudes_of(sorted_values) : std::vector<double>();
  // Ends beyond which ever more values lie, down to zero.
  const auto candidates = [](const std::vector<double>& all, bool from_above) {
    std::array<double, kShares.size()> ends{};
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      const auto beyond = static_cast<std::size_t>(kShares[i] * static_cast<double>(all.size()));
      ends[i] = from_above ? std::max(all[all.size() - 1 - beyond], 0.0) : std::min(all[beyond], 0.0);
    }
    return ends;
  };
  const auto above = candidates(symmetric ? magnitudes : sorted_values, true);
  const auto below = candidates(sorted_values, false);
  // Between one that fits and the next any end may do.
  std::size_t deepest_below = 0, deepest_above = 0;
  for (std::size_t i = 0; i + 1 < above.size(); ++i) {
    for (std::size_t k = 0; k + 1 < (symmetric ? 2 : below.size()); ++k) {
      if (!(of(symmetric ? -above[i] : below[k], above[i], levels) <= limit)) continue;
      deepest_above = std::max(deepest_above, i);
      deepest_below = std::max(deepest_below, k);
    }
  }
  const double top = above[deepest_above + 1];
  if (symmetric) return {std::max(low, -top), std::min(high, top)};
  return {below[deepest_below + 1], top};
}

SquaredError::SquaredError(const std::vector<double>& sorted_values) : values_(sorted_values), sums_{0}, squares_{0} {
  sums_.reserve(values_.size() + 1);
  squares_.reserve(values_.size() + 1);
  for (const double value : values_) {
    sums_.push_back(sums_.back() + value);
    squares_.push_back(squares_.back() + value * value);
  }
}

double SquaredError::of(double low, double high, double levels) const {
  constexpr double kUniform = 12;  // variance of a draw between two codes: s²/12
  const double step = (high - low) / levels;
  const auto index = [&](auto found) { return static_cast<std::size_t>(found - values_.begin()); };
  const std::size_t first = index(std::ranges::lower_bound(values_, low - step / 2));
  const std::size_t last = std::max(first, index(std::ranges::upper_bound(values_, high + step / 2)));
  // Σ(v − end)² = Σv² − 2·end·Σv + n·end².
  const auto cut = [&](std::size_t from, std::size_t to, double end) {
    return std::max(0.0, squares_[to] - squares_[from] - 2 * end * (sums_[to] - sums_[from]) +
                             static_cast<double>(to - from) * end * end);
  };
  const double inside = static_cast<double>(last - first) * step * step / kUniform;
  return (cut(0, first, low) + inside + cut(last, values_.size(), high)) / static_cast<double>(values_.size());
}

double SquaredError::least(double levels, bool symmetric) const {
  const double low = std::min(values_.front(), 0.0), high = std::max(values_.back(), 0.0);
  double best = std::numeric_limits<double>::infinity(), below = 1;
  for (int i = 0; i < kTried; ++i, below *= kNarrower) {
    double above = 1;
    for (int k = 0; k < (symmetric || low == 0 ? 1 : kTried); ++k, above *= kNarrower) {
      const double extent = std::max(-low, high) * below;
      best = std::min(best, symmetric ? of(-extent, extent, levels) : of(low * above, high * below, levels));
    }
  }
  return best;
}

Divergence::Histogram::Histogram(const std::vector<double>& values, std::size_t bins) : sums_(1) {
  const auto [least, most] = std::ranges::minmax(values);
  low_ = std::min(least, 0.0);
  width_ = (std::max(most, 0.0) - low_) / static_cast<double>(bins);
  if (!(width_ > 0) || !std::isfinite(width_)) return;
  std::vector<double> counts(bins);
  for (const double value : values) {
    if (value != 0) ++counts[std::min(static_cast<std::size_t>((value - low_) / width_), bins - 1)];
  }
  for (const double count : counts) {
    const Sums& before = sums_.back();
    sums_.push_back({before.count + count, before.logs + times_log(count), before.occupied + (count > 0 ? 1 : 0)});
  }
}

double Divergence::Histogram::excess(double low, double high, double levels) const {
  const std::size_t bins = sums_.size() - 1;
  if (sums_.back().count == 0) return 0;
  const double own = static_cast<double>(bins) * width_, top = low_ + own;
  // Codes around zero reach as far on a side that has no values.
  const bool around_zero = std::fabs(low + high) < (high - low) / kCodesOfASide;
  const double whole_width = around_zero ? 2 * std::max(-low_, top) : own;
  const auto bin_at = [&](double value) {
    return static_cast<std::size_t>(std::clamp((value - low_) / width_, 0.0, static_cast<double>(bins)));
  };
  const double whole = divergence(0, bins, levels * own / whole_width);
  const std::size_t first = std::min(bin_at(low), bins - 1), last = std::max(bin_at(high), first + 1);
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t from : {first, first > 0 ? first - 1 : 0}) {
    for (const std::size_t to : {last, std::min(last + 1, bins)}) {
      const double covered = static_cast<double>(to - from) * width_;
      least = std::min(least, divergence(from, to, levels * covered / (high - low)) - whole);
    }
  }
  return least;
}

double Divergence::Histogram::divergence(std::size_t first, std::size_t last, double levels) const {
  const double total = sums_.back().count;
  const double below = sums_[first].count, above = total - sums_[last].count, inside = total - below - above;
  if (!(inside > 0)) return std::numeric_limits<double>::infinity();
  const auto steps = static_cast<std::size_t>(std::clamp(std::round(levels), 1.0, static_cast<double>(last - first)));
  double own = sums_[last].logs - sums_[first].logs, spread = 0;
  // What lies beyond the ends counts in their bins: where there was nothing, that is as good as one value.
  const auto in_end = [&](std::size_t bin, double beyond) {
    const double count = sums_[bin + 1].count - sums_[bin].count;
    own += times_log(count + beyond) - times_log(count);
    return count > 0 ? beyond : 0;
  };
  const double in_first = in_end(first, last - first == 1 ? below + above : below);
  const double in_last = last - first == 1 ? 0 : in_end(last - 1, above);
  for (std::size_t level = 0; level < steps; ++level) {
    const std::size_t from = first + level * (last - first) / steps, to = first + (level + 1) * (last - first) / steps;
    const double count = sums_[to].count - sums_[from].count, occupied = sums_[to].occupied - sums_[from].occupied;
    if (count == 0) continue;
    const double held = count + (level == 0 ? in_first : 0) + (level + 1 == steps ? in_last : 0);
    spread += held * std::log(count / occupied);
  }
  return (own - spread) / total + std::log(inside / total);
}

Divergence::Divergence(const std::vector<double>& sorted_values)
    : ends_{std::min(sorted_values.front(), 0.0), std::max(sorted_values.back(), 0.0)} {
  const std::vector<double> magnitudes = magnitudes_of(sorted_values);
  for (const std::size_t bins : kBins) {
    values_.emplace_back(sorted_values, 2 * bins);
    magnitudes_.emplace_back(magnitudes, bins);
  }
}

double Divergence::of(double low, double high, double levels) const {
  // A search keeps at least 128 of 2048 bins: a single one would diverge from nothing.
  constexpr double kLeast = 128.0 / 2048;
  if (!(std::max(-low, high) >= kLeast * std::max(-ends_.low, ends_.high)))
    return std::numeric_limits<double>::infinity();
  double least = std::numeric_limits<double>::infinity();
  for (const Histogram& histogram : values_) least = std::min(least, histogram.excess(low, high, levels));
  // One magnitude for both ends, but where the values end before it; a zero point that is rounded shifts both.
  const double extent = std::max(-low, high), shift = (high - low) / levels;
  if (low - shift > std::max(ends_.low, -extent) || high + shift < std::min(ends_.high, extent)) return least;
  for (const Histogram& histogram : magnitudes_)
    least = std::min(least, histogram.excess(0, extent, levels * extent / (high - low)));
  return least;
}

std::unique_ptr<const RangeCost> searched_cost(converters::Method method, const converters::Policy& policy,
                                               const std::vector<double>& sorted_values) {
  using converters::HistogramBins;
  if (sorted_values.empty()) return nullptr;
  if (method == converters::Method::mse) return std::make_unique<SquaredError>(sorted_values);
  const bool open = policy.histogram == HistogramBins::unknown || policy.histogram == HistogramBins::first_batch;
  if (method == converters::Method::entropy && open && are_spread(sorted_values))
    return std::make_unique<Divergence>(sorted_values);
  return nullptr;
}

}  // namespace assay::judge
