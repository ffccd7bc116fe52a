#include "harness/judge/alignment/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::judge {

double alarm_exponent(const LayerContext& context, double share) {
  return std::log(2 * std::max(context.judged_elements, 1.0) / (share * kFalseAlarmRate));
}

double sum_limit(double variance, double exponent) { return std::sqrt(2 * exponent * variance); }

double energy_limit(const Spread& spread, double exponent) {
  return spread.trace + 2 * std::sqrt(spread.largest * spread.trace * exponent) + 2 * spread.largest * exponent;
}

DistinctCount::DistinctCount(std::size_t most) : most_(most), slots_(std::bit_ceil(2 * most + 2)) {}

void DistinctCount::add(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size() && count_ < most_; ++i) {
    if (values[i] != 0) {
      add_bits(std::bit_cast<std::uint64_t>(values[i]));
    } else if (!has_zero_) {
      has_zero_ = true;
      ++count_;
    }
  }
}

void DistinctCount::add_bits(std::uint64_t bits) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // 2^64 / φ: Fibonacci hashing
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>((bits * kGoldenRatio) >> 32U) & mask;
  while (slots_[at] != 0 && slots_[at] != bits) at = (at + 1) & mask;
  if (slots_[at] == bits) return;
  slots_[at] = bits;
  ++count_;
}

std::size_t distinct_values(std::span<const double> values, std::size_t most) {
  DistinctCount distinct(std::min(most, values.size()));
  distinct.add(values);
  return distinct.count();
}

std::vector<double> means_along(const core::Tensor& tensor, std::size_t axis) {
  const core::Shape& shape = tensor.shape();
  const auto values = tensor.reals();
  const auto extent = static_cast<std::size_t>(shape[axis]);
  const auto stride = static_cast<std::size_t>(core::element_count(std::span(shape).subspan(axis + 1)));
  std::vector<double> means(extent);
  for (std::size_t i = 0; i < values.size(); ++i) means[i / stride % extent] += values[i];
  for (double& mean : means) mean *= static_cast<double>(extent) / static_cast<double>(values.size());
  return means;
}

}  // namespace assay::judge
