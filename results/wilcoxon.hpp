#pragma once

#include <cstddef>
#include <span>

namespace assay::results {

struct SignedRank {
  std::size_t pairs = 0;      ///< that differ: zeros are dropped
  double positive_ranks = 0;  ///< W+, the ranks of the increases added up
  double p = 1;               ///< two-sided, exact
};

/// Wilcoxon's signed-rank test of paired differences. Ties share the mean of their ranks.
///
/// Formula  under "nothing changed" each sign is a fair coin, so that W+ is a sum of ranks chosen by coins; its
///          distribution is counted out, with the ties as they are: no approximation by a normal law. O(pairs³).
/// p        twice the probability of a rank sum as far out as the smaller of W+ and W−, at most 1.
/// Range    finite differences.
[[nodiscard]] SignedRank signed_rank_test(std::span<const double> differences);

/// Fewest pairs with which signed_rank_test can give p < `alpha`: all of one sign give 2/2ⁿ.
[[nodiscard]] std::size_t fewest_pairs(double alpha);

}  // namespace assay::results
