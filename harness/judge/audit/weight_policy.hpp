#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "converters/policy.hpp"

namespace assay::judge {

struct Evidence;

/// The stated policy as it applies to weights: audit, bounds and prediction ask here.
class WeightPolicy {
 public:
  explicit WeightPolicy(const Evidence& evidence);

  /// With the divisor that the weights of this node of the original have.
  [[nodiscard]] const converters::Policy& of(std::size_t node) const {
    return first_.contains(node) ? of_first_ : policy_;
  }
  /// Ranges by channel: none stays below the share of the widest one's that the policy states.
  void widen(const std::vector<double>& low, std::vector<double>& high) const;

 private:
  converters::Policy policy_, of_first_;
  std::set<std::size_t> first_;  ///< Convs with a divisor of their own
};

}  // namespace assay::judge
