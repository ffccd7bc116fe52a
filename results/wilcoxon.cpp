#include "results/wilcoxon.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::results {
namespace {

/// Ranks of the magnitudes, from 1, doubled so that the mean rank of a tie is an integer. `sorted` ascends by
/// magnitude.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& sorted) {
  std::vector<std::size_t> ranks(sorted.size());
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[begin])) ++end;
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(begin), ranks.begin() + static_cast<std::ptrdiff_t>(end),
              begin + 1 + end);
  }
  return ranks;
}

/// Probability that the ranks chosen by fair coins add up to `limit` or less.
double lower_tail(const std::vector<std::size_t>& ranks, std::size_t limit) {
  std::vector<double> probability(limit + 1, 0.0);
  probability[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t sum = limit + 1; sum-- > 0;) {
      probability[sum] = 0.5 * (probability[sum] + (sum >= rank ? probability[sum - rank] : 0.0));
    }
  }
  double tail = 0;
  for (const double each : probability) tail += each;
  return tail;
}

}  // namespace

SignedRank signed_rank_test(std::span<const double> differences) {
  std::vector<double> sorted;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(sorted), [](double d) { return d != 0; });
  std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  const std::vector<std::size_t> ranks = doubled_ranks(sorted);
  std::size_t positive = 0, negative = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) (sorted[i] > 0 ? positive : negative) += ranks[i];
  SignedRank result;
  result.pairs = sorted.size();
  result.positive_ranks = static_cast<double>(positive) / 2;
  result.p = std::min(1.0, 2 * lower_tail(ranks, std::min(positive, negative)));
  return result;
}

std::size_t fewest_pairs(double alpha) {
  std::size_t pairs = 1;
  for (double p = 1; !(p < alpha); p /= 2) ++pairs;
  return pairs;
}

}  // namespace assay::results
