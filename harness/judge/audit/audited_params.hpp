#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/evidence/derived_params.hpp"

namespace assay::judge {

/// The values that one end of a tensor's range may have; a single value for min-max without averaging.
struct Interval {
  double low = 0, high = 0;
};

/// What a correct converter may take as a tensor's range, with zero included: low.high <= 0 <= high.low.
struct AllowedRange {
  Interval low, high;
  double slack = 0;                    ///< float32 forward error of an end
  std::string tensor;                  ///< whose range it is
  bool fixed = false;                  ///< stated by the policy rather than calibrated
  std::int64_t unsigned_center = 128;  ///< code of zero for unsigned symmetric parameters
  /// Where the range must lie in the middle of a histogram's bin (Evidence::first_batch_bins).
  struct Bins {
    double width = 0;                             ///< that of the first batch; 0: no such rule
    double relative_error = 0;                    ///< of the width: float32 forward error of the first batch's extreme
    int least_doublings = 0, most_doublings = 0;  ///< of the width, until the extreme of all batches has a bin
  } bins;
  /// Where the policy tells which search found the range: the scales at which that may have ended.
  std::vector<double> searched;
  /// Both ends have one magnitude, but where the data end before it (policy one_threshold): the width of its bins.
  std::optional<double> threshold_bin;
};

/// The allowed range of one tensor from its calibration values.
///
/// `searched`: what is known of the search for the least divergence, else null.
///
/// Formula  min-max: lo' = min(lo, 0), hi' = max(hi, 0), one value each; averaging per sample or over batches: between
///          the mildest sample's end and the extreme; percentile: between the lower and higher quantile of either tail
///          convention, one bin wider (2048 over the symmetric range); entropy: as the policy's histogram tells, else
///          between amax·128/2048 and amax plus one bin, and with bins of the first batch the middle of one; mse: up to
///          the extreme plus three codes.
[[nodiscard]] AllowedRange allowed_range(const std::string& tensor, const TensorRange& range,
                                         const std::vector<double>* sorted_values, const converters::Options& options,
                                         const converters::Policy& policy, bool first_batch_bins = false,
                                         const std::vector<double>* searched = nullptr);

/// What the policy `zero` "exact" makes of the allowed ranges: zero_point is rounded first, then the scale is the least
/// under which both ends have a code, so that one end moves outwards.
struct WidenedSpan {
  double least_scale = 0, most_scale = 0;
  double least_below = 0, most_below = 0;  ///< codes below zero: zero_point − qmin
  double fewest = 0;                       ///< codes on the shorter side that is in use, at least 1
};
/// `steps` = qmax − qmin.
[[nodiscard]] WidenedSpan widened_span(const AllowedRange& allowed, double steps);

/// How far a search for the least squared error (method mse) may end outside of the values: at the upper edge of a bin,
/// or as far as the policy states.
[[nodiscard]] double beyond_of_search(double low, double high, const converters::Policy& policy);

/// How far declared parameters lie outside what `allowed` permits.
struct ParamFault {
  Facet facet = Facet::scale;
  std::string expected;  ///< "0.0236" or "0.0236 … 0.0312"
  std::string actual;
  double margin = 0;  ///< distance ÷ allowance
};
/// A declared scale beside the allowed one: how far off, and how far it may be.
struct ScaleMargin {
  std::string range, expected, actual;
  double distance = 0, limit = 0;
  std::optional<double> only = std::nullopt;  ///< the allowed scale, where there is one
};
/// Nothing where one per-tensor scale and zero_point fit `allowed`. `margin`, where not null, tells how well the scale
/// does, fault or not; it stays as it was where any scale would.
///
/// Limits   scale: 2 ulp of float32 and the slack's share; zero_point: nearest to qmin − lo'/s for the declared s, one
///          step off only where that lies within the slack of a half. A range without extent, or below float32's least
///          normal, takes any positive finite scale.
[[nodiscard]] std::optional<ParamFault> check_params(const core::QuantParams& params, const AllowedRange& allowed,
                                                     bool symmetric, const converters::Policy& policy,
                                                     ScaleMargin* margin = nullptr);

/// "[-1.5, 2]", an interval "a … b" for an end that may be any in between.
[[nodiscard]] std::string range_text(const AllowedRange& range);

/// Spacing of float32 numbers at `value`.
[[nodiscard]] double float32_ulp(double value);

}  // namespace assay::judge
