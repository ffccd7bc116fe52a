#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/judge/audit/audited_params.hpp"

namespace assay::judge {

/// What it costs to quantize values on one range, as a search weighs it that tries the whole range too: a range that
/// costs more than the whole one, by more than estimates differ, is none that a search ends with.
class RangeCost {
 public:
  virtual ~RangeCost() = default;
  RangeCost(const RangeCost&) = delete;
  RangeCost& operator=(const RangeCost&) = delete;
  RangeCost(RangeCost&&) = delete;
  RangeCost& operator=(RangeCost&&) = delete;

  /// That of codes from `low` to `high`, `levels` steps apart.
  [[nodiscard]] virtual double of(double low, double high, double levels) const = 0;
  [[nodiscard]] virtual const char* name() const = 0;
  /// The most that a search may end with where the whole range costs `whole`.
  [[nodiscard]] virtual double most(double whole) const = 0;

  [[nodiscard]] double of(const core::QuantParams& params) const;
  /// Ends so narrow that any range of `levels` steps that costs no more than most() of the whole one reaches as far,
  /// each by itself, whatever the other is. `symmetric`: both have one magnitude, but where the values end before it.
  [[nodiscard]] Interval narrowest(const std::vector<double>& sorted_values, double levels, bool symmetric) const;

 protected:
  RangeCost() = default;
};

/// Mean squared error: what is cut off beyond the codes, s²/12 between them.
class SquaredError final : public RangeCost {
 public:
  /// `sorted_values` must outlive it and not be empty.
  explicit SquaredError(const std::vector<double>& sorted_values);
  using RangeCost::of;
  [[nodiscard]] double of(double low, double high, double levels) const override;
  [[nodiscard]] const char* name() const override { return "squared error"; }
  /// Half more: a search estimates it from a histogram.
  [[nodiscard]] double most(double whole) const override { return 1.5 * whole; }
  /// The least that a range of `levels` steps has, zero in it: ends are tried from the extremes inwards.
  [[nodiscard]] double least(double levels, bool symmetric) const;

 private:
  const std::vector<double>& values_;
  std::vector<double> sums_, squares_;  ///< of the first so many values
};

/// By how much more nats than the whole range's the Kullback–Leibler divergence is between the values' distribution,
/// cut off at both ends of the range, and the same on its levels, where each spreads evenly over its occupied bins.
/// Zeros don't count. Searches go by the values or by their magnitudes, with fewer bins or more, which begin and end
/// elsewhere: the least of all.
class Divergence final : public RangeCost {
 public:
  /// `sorted_values` must not be empty.
  explicit Divergence(const std::vector<double>& sorted_values);
  using RangeCost::of;
  [[nodiscard]] double of(double low, double high, double levels) const override;
  [[nodiscard]] const char* name() const override { return "divergence beyond the whole range's"; }
  /// TensorRT 8.6.1's ranges of 57 tensors in ten networks have at most 0.035 (tests/data/trt861), the embedded
  /// converter's over its suite 0.1.
  [[nodiscard]] double most(double whole) const override { return std::max(whole, 0.0) + 0.2; }

 private:
  class Histogram {
   public:
    Histogram(const std::vector<double>& values, std::size_t bins);
    /// How much larger the range's is than that of all bins.
    [[nodiscard]] double excess(double low, double high, double levels) const;

   private:
    [[nodiscard]] double divergence(std::size_t first, std::size_t last, double levels) const;
    struct Sums {
      double count = 0, logs = 0, occupied = 0;  ///< Σ n, Σ n·ln n, number of n > 0
    };
    std::vector<Sums> sums_;      ///< of the first so many bins
    double low_ = 0, width_ = 0;  ///< of the first bin and of each
  };
  Interval ends_;  ///< of the values, with zero
  std::vector<Histogram> values_, magnitudes_;
};

/// What a search by `method` weighs; null where the method searches nothing, where the policy tells by itself where the
/// search ends, or where that says nothing of these values. Keeps a reference to them.
[[nodiscard]] std::unique_ptr<const RangeCost> searched_cost(converters::Method method,
                                                             const converters::Policy& policy,
                                                             const std::vector<double>& sorted_values);

}  // namespace assay::judge
