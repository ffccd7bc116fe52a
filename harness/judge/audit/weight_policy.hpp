#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "converters/policy.hpp"

namespace assay::judge {

struct Evidence;

/// The policy says that the weights of this operator have one scale, whatever is asked for.
bool has_whole_weights(const converters::Policy& policy, const std::string& op);

/// Whether a weight's scale may have been raised for a bias beyond 2³¹ steps, which fits from `needed` on; twice that
/// is too far.
bool is_raised_for_bias(double scale, double needed);

/// The stated policy as it applies to weights: audit, bounds and prediction ask here.
class WeightPolicy {
 public:
  explicit WeightPolicy(const Evidence& evidence);
  WeightPolicy(const Evidence& evidence, const converters::Policy& policy);

  /// With the divisor that the weights of this node of the original have.
  [[nodiscard]] const converters::Policy& of(std::size_t node) const {
    return first_.contains(node) ? of_first_ : policy_;
  }
  /// The weights of this operator have a scale for each channel.
  [[nodiscard]] bool per_axis(const std::string& op) const;
  /// Ranges by channel: none stays below the policy's floor, nor below its share of the widest one's.
  void widen(const std::vector<double>& low, std::vector<double>& high) const;

 private:
  bool per_axis_;
  converters::Policy policy_, of_first_;
  std::set<std::size_t> first_;  ///< Convs with a divisor of their own
};

}  // namespace assay::judge
