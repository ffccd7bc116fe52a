#include "harness/judge/evidence/range_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "harness/core/rng.hpp"

namespace assay::judge {
namespace {

constexpr std::size_t kBins = 4096, kLevels = 128, kTried = kBins / kLevels;
/// Of the bins next to zero: a share of 0.002 is left out.
constexpr std::size_t kLeftOut = 8;

using Histogram = std::vector<double>;
using Divergences = std::array<double, kTried>;

/// Divergence of the histogram cut off behind `ratio` bins a level from what the levels leave of it.
double divergence(const Histogram& histogram, std::size_t ratio, double total) {
  constexpr double kNothing = 1e-30;  // what the converter adds to both before it takes logarithms
  const std::size_t bins = ratio * kLevels;
  const auto end = histogram.begin() + static_cast<std::ptrdiff_t>(bins);
  const double inside = std::accumulate(histogram.begin(), end, 0.0);
  double sum = 0;
  for (std::size_t level = 0; level < kLevels; ++level) {
    double count = 0, used = 0;
    for (std::size_t i = level * ratio; i < (level + 1) * ratio; ++i) {
      count += histogram[i];
      used += histogram[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = level * ratio; i < (level + 1) * ratio; ++i) {
      const double beyond = i + 1 == bins ? total - inside : 0;
      const double before = (histogram[i] + beyond) / total;
      const double after = histogram[i] > 0 ? count / used / inside : 0;
      sum += before * (std::log10(before + kNothing) - std::log10(after + kNothing));
    }
  }
  return sum;
}

/// `moved` gives each value as the converter may have seen it.
template <typename Move>
Divergences divergences(const std::vector<double>& values, double largest, const Move& moved) {
  Histogram histogram(kBins);
  for (const double value : values) {
    const double share = std::clamp(std::abs(moved(value)) / largest, 0.0, 1.0);
    const auto bin = static_cast<std::size_t>(share * static_cast<double>(kBins));
    ++histogram[std::min(bin, kBins - 1)];
  }
  std::fill_n(histogram.begin(), kLeftOut, 0.0);
  histogram[kLeftOut] = 1;
  const double total = std::accumulate(histogram.begin(), histogram.end(), 0.0);
  Divergences all;
  for (std::size_t k = 0; k < kTried; ++k) all[k] = divergence(histogram, k + 1, total);
  return all;
}

}  // namespace

std::vector<double> searched_scales(const std::vector<double>& sorted_values, double slack) {
  if (sorted_values.empty()) return {};
  const double largest = std::max(std::abs(sorted_values.front()), std::abs(sorted_values.back()));
  if (!(largest > 0) || !std::isfinite(largest)) return {};
  // The converter sums the histogram in float32; what it sees of a value is off by less than the slack, mostly far
  // less.
  constexpr double kRounding = 1e-6;
  std::array<bool, kTried> ends{};
  const auto add = [&](const Divergences& found) {
    const double least = std::ranges::min(found);
    for (std::size_t k = 0; k < kTried; ++k) ends[k] = ends[k] || found[k] - least <= kRounding;
  };
  add(divergences(sorted_values, largest, [](double value) { return value; }));
  core::Rng rng(1);
  for (const double share : {1.0, 1.0, 1.0, 0x1p-3, 0x1p-3, 0x1p-6, 0x1p-6}) {
    if (!(slack > 0)) break;
    add(divergences(sorted_values, largest, [&](double value) { return value + share * slack * rng.uniform(-1, 1); }));
  }
  std::vector<double> scales;
  for (std::size_t k = 0; k < kTried; ++k) {
    if (ends[k]) scales.push_back(largest / static_cast<double>(kBins) * static_cast<double>(k + 1));
  }
  return scales;
}

}  // namespace assay::judge
