#include "harness/judge/audit/audited_params.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/text.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::QuantParams;

constexpr auto kLeastScale = static_cast<double>(std::numeric_limits<float>::min());
/// Histogram bins of the entropy and percentile methods, as TensorRT and ONNX Runtime have them; the code range that
/// entropy can't go below is 128 of them.
constexpr double kBins = 2048, kEntropyLeastBins = 128;
/// Two roundings of float32: the range's difference and the division.
constexpr double kScaleUlps = 2;
/// Relative error of lo'/s in float32.
constexpr double kStepsError = 0x1p-22;

std::string text(double value) { return core::exact_text(static_cast<float>(value)); }

std::size_t quantile_index(std::size_t count, double share, bool higher) {
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(count - 1);
  return static_cast<std::size_t>(higher ? std::ceil(position) : std::floor(position));
}

double quantile(const std::vector<double>& sorted, double share, bool higher) {
  return sorted[quantile_index(sorted.size(), share, higher)];
}

/// Ends by percentile. One-sided counts the whole tail share on each side, two-sided halves it, and others take the
/// quantile of the magnitudes, cut where the values end before it: all are in use, so the interval spans them.
void set_percentile(AllowedRange& allowed, const std::vector<double>& sorted, double percent) {
  const double tail = 1 - percent / 100;
  // Histograms lie symmetric around zero in several converters, whatever the values do: the widest bin in use.
  const double bin = 2 * std::max(std::abs(sorted.front()), std::abs(sorted.back())) / kBins;
  std::vector<double> magnitudes(sorted.size());
  std::ranges::transform(sorted, magnitudes.begin(), [](double v) { return std::abs(v); });
  const auto magnitude = [&](bool higher) {
    const auto index = static_cast<std::ptrdiff_t>(quantile_index(magnitudes.size(), 1 - tail, higher));
    std::ranges::nth_element(magnitudes, magnitudes.begin() + index);
    return magnitudes[static_cast<std::size_t>(index)];
  };
  const double least = magnitude(false) - bin, most = magnitude(true);
  allowed.high.high =
      std::max(0.0, std::max(quantile(sorted, 1 - tail / 2, true), std::min(most, sorted.back())) + bin);
  allowed.high.low = std::clamp(std::min(quantile(sorted, 1 - tail, false) - bin, least), 0.0, allowed.high.high);
  allowed.low.low = std::min(0.0, std::min(quantile(sorted, tail / 2, false), std::max(-most, sorted.front())) - bin);
  allowed.low.high = std::clamp(std::max(quantile(sorted, tail, true) + bin, -least), allowed.low.low, 0.0);
}

/// Of each of float32's sums over the batches, and of the quotient.
double batch_rounding(double batches, double low, double high) {
  constexpr double kRounding = 0x1p-24;
  return (batches + 1) * kRounding * std::max(-low, high);
}

/// The mean of the batches' extremes, or of their ranges with zero in them; of their largest magnitudes where codes lie
/// around zero and the policy doesn't average the ends.
void set_batch_mean(AllowedRange& allowed, const TensorRange& range, bool symmetric, converters::Averaging averaging) {
  const bool widened = averaging == converters::Averaging::widened_batch_mean;
  symmetric = symmetric && averaging != converters::Averaging::batch_ends;
  const auto batches = static_cast<double>(std::max<std::size_t>(range.batches, 1));
  const double highest = widened ? range.widened_high : range.batch_high;
  const double low = std::min((widened ? range.widened_low : range.batch_low) / batches, 0.0);
  const double high = std::max((symmetric ? range.batch_extent : highest) / batches, 0.0);
  allowed.low = {low, low};
  allowed.high = {high, high};
  allowed.slack += batch_rounding(batches, low, high);
}

/// The mean of the batches' own quantiles, of either end by itself.
void set_batch_quantiles(AllowedRange& allowed, const TensorRange& range) {
  const auto batches = static_cast<double>(std::max<std::size_t>(range.batches, 1));
  const double low = std::min(range.quantile_low / batches, 0.0), high = std::max(range.quantile_high / batches, 0.0);
  allowed.low = {low, low};
  allowed.high = {high, high};
  allowed.slack += batch_rounding(batches, low, high);
}

/// How often a histogram up to `first` doubles until it reaches `extreme`.
int doublings(double first, double extreme) {
  int count = 0;
  while (std::ldexp(first, count) < extreme) ++count;
  return count;
}

AllowedRange::Bins bins_of(const TensorRange& range, double largest) {
  AllowedRange::Bins bins;
  if (!(range.first > 0) || !std::isfinite(largest)) return bins;
  bins.width = range.first / kBins;
  bins.relative_error = (range.is_input ? 0 : range.slack / range.first) + kStepsError;
  const double error = range.is_input ? 0 : 2 * range.slack;
  bins.least_doublings = doublings(range.first, largest - error);
  bins.most_doublings = doublings(range.first, largest + error);
  return bins;
}

/// A symmetric range that isn't the middle of a bin, as far as the bins' error lets it be told.
std::optional<ParamFault> check_bins(double scale, const AllowedRange::Bins& bins, double divisor) {
  if (bins.width <= 0) return std::nullopt;
  double least = std::numeric_limits<double>::infinity();
  for (int doubled = bins.least_doublings; doubled <= bins.most_doublings; ++doubled) {
    const double count = scale * divisor / std::ldexp(bins.width, doubled);
    const double off = std::abs(count - std::floor(count) - 0.5) / (count * bins.relative_error);
    if (off <= 1) return std::nullopt;
    least = std::min(least, off);
  }
  const double width = std::ldexp(bins.width, bins.least_doublings);
  return ParamFault{
      Facet::scale,
      fmt::format("the middle of one of the first batch's bins of {}{}", text(width),
                  bins.least_doublings == 0 ? "" : fmt::format(", doubled {} times", bins.least_doublings)),
      fmt::format("{} ({} of them)", text(scale), text(scale * divisor / width)), least};
}

/// Ends by a search for the least divergence.
void set_entropy(AllowedRange& allowed, const TensorRange& range, const converters::Options& options,
                 const converters::Policy& policy, bool first_batch_bins, const std::vector<double>* searched) {
  using converters::HistogramBins;
  const double low = allowed.low.low, high = allowed.high.high;
  const double largest = std::max(-low, high);
  if (policy.histogram == HistogramBins::whole_range) return;
  if (policy.histogram == HistogramBins::as_levels) {
    // Whatever is cut off lies beyond the first batch's bins, on both sides alike.
    allowed.low.high = std::max(low, -range.first);
    allowed.high.low = std::min(high, range.first);
    allowed.threshold_bin = 0;
    return;
  }
  if (searched != nullptr && !searched->empty() && options.symmetric) {
    allowed.searched = *searched;
    const auto [least, most] = std::ranges::minmax(*searched);
    allowed.low = {-most * policy.divisor, -least * policy.divisor};
    allowed.high = {least * policy.divisor, most * policy.divisor};
    return;
  }
  // The histogram is of magnitudes for symmetric methods and of values otherwise; neither end exceeds its extreme by
  // more than a bin, and the larger end keeps at least the bins that 8-bit codes need.
  const double bin = std::max(largest, high - low) / kBins;
  const double least = (first_batch_bins ? range.first : largest) * kEntropyLeastBins / kBins;
  const AllowedRange::Bins bins = first_batch_bins ? bins_of(range, largest) : AllowedRange::Bins();
  // With bins of the first batch the most is the middle of the one behind the last.
  const double beyond = bins.width > 0 ? std::ldexp(bins.width * (kBins + 0.5), bins.most_doublings) - largest : bin;
  allowed.low = {low - beyond, std::min(0.0, std::max(low, -least) + bin)};
  allowed.high = {std::max(0.0, std::min(high, least) - bin), high + beyond};
  allowed.bins = bins;
  if (policy.one_threshold) allowed.threshold_bin = bin;
}

struct Span {
  double low = 0, high = 0;
};

double steps_of(DType type) {
  const auto limits = core::integer_limits(type);
  return static_cast<double>(limits.high - limits.low);
}

/// The scales that the allowed ranges lead to, before floor and powers of two.
Span scale_span(const AllowedRange& allowed, DType type, bool symmetric, double divisor,
                const converters::Policy& policy) {
  if (symmetric) {
    return {symmetric_scale(allowed.low.high, allowed.high.low, divisor, policy),
            symmetric_scale(allowed.low.low, allowed.high.high, divisor, policy)};
  }
  if (policy.zero == converters::ZeroRule::exact) {
    const WidenedSpan widened = widened_span(allowed, steps_of(type));
    return {widened.least_scale, widened.most_scale};
  }
  return {(allowed.high.low - allowed.low.high) / steps_of(type),
          (allowed.high.high - allowed.low.low) / steps_of(type)};
}

/// Whether a float32 execution may have seen nothing of the range: then any scale serves it.
bool may_be_empty(const AllowedRange& allowed, DType type, bool symmetric, double divisor,
                  const converters::Policy& policy) {
  const double steps = symmetric ? divisor : steps_of(type) / 2;
  return scale_span(allowed, type, symmetric, divisor, policy).high - allowed.slack / steps < kLeastScale;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

std::string span_text(const Span& span) {
  return span.low == span.high ? text(span.low) : fmt::format("{} … {}", text(span.low), text(span.high));
}

/// Divisors of a symmetric range: the policy's, and for unsigned codes of 8 bits and more also half of all steps,
/// 127.5. Who divides by these (ESP-PPQ) brings operands to one range by reading it back from the codes, [−128 s, 127
/// s], and dividing once more: s becomes 256/255 of what it was.
std::vector<double> divisors(DType type, const converters::Policy& policy) {
  constexpr double kHalfSteps = 127.5;
  constexpr double kReadBack = 255.0 / 256;
  const double steps = symmetric_steps(type, policy);
  if (is_wide_unsigned(type) && policy.divisor == 127) return {steps, steps + 0.5};
  if (policy.divisor == kHalfSteps) return {kHalfSteps, kHalfSteps * kReadBack};
  return {steps};
}

/// None of the scales at which the search may have ended, each `ratio` times as large.
std::optional<ParamFault> check_searched(double scale, const std::vector<double>& searched, double ratio,
                                         double tolerance, const converters::Policy& policy) {
  double nearest = std::numeric_limits<double>::infinity();
  std::string expected;
  for (const double each : searched) {
    const double found = std::max(each * ratio, policy.scale_floor);
    nearest = std::min(nearest, std::abs(scale - found));
    // Which neighbour a converter takes isn't stated.
    if (policy.power_of_two && scale > found / 2 && scale < found * 2) return std::nullopt;
    expected += (expected.empty() ? "" : " or ") + text(found);
  }
  if (nearest <= tolerance) return std::nullopt;
  return ParamFault{Facet::scale, expected + ", the least divergence of its search", text(scale), nearest / tolerance};
}

std::optional<ParamFault> check_scale(const QuantParams& params, const AllowedRange& allowed, bool symmetric,
                                      double divisor, const converters::Policy& policy, ScaleMargin* margin) {
  const double scale = params.scale.front();
  const DType type = params.type;
  Span span = scale_span(allowed, type, symmetric, divisor, policy);
  // What the policy states of every scale holds without a range too.
  if (policy.power_of_two && !is_power_of_two(scale)) {
    return ParamFault{Facet::scale, "a power of two (stated policy)", text(scale),
                      std::numeric_limits<double>::infinity()};
  }
  if (scale < policy.scale_floor - kScaleUlps * float32_ulp(policy.scale_floor)) {
    return ParamFault{Facet::scale, fmt::format("at least {} (stated policy)", text(policy.scale_floor)), text(scale),
                      policy.scale_floor / scale};
  }
  if (may_be_empty(allowed, type, symmetric, divisor, policy)) return std::nullopt;
  const bool widens = !symmetric && policy.zero == converters::ZeroRule::exact;
  const double steps = symmetric ? divisor : widens ? widened_span(allowed, steps_of(type)).fewest : steps_of(type) / 2;
  // A widened range is divided twice.
  double tolerance = (widens ? 2 : 1) * kScaleUlps * float32_ulp(span.high) + allowed.slack / steps +
                     params.unit * span.high;  // of a scale of 16 bits
  if (policy.scale_floor > 0) {
    // A search widens a range that was brought to the least one as well, one side after the other.
    const double widest = policy.scale_floor * (1 + policy.search_beyond) * (1 + policy.search_beyond);
    span = {std::max(span.low, policy.scale_floor), std::max(span.high, widest)};
  }
  span = {core::round_to_type(span.low, DType::float32), core::round_to_type(span.high, DType::float32)};
  if (policy.power_of_two) {
    // Which neighbour a converter takes isn't stated: either is a power of two next to an allowed scale.
    span = {power_below(std::max(span.low - tolerance, kLeastScale)),
            std::exp2(std::ceil(std::log2(span.high + tolerance)))};
  } else if (params.scale_type != DType::float32) {
    span = {stored_scales(params, std::max(span.low - tolerance, kLeastScale), steps, 0).least,
            stored_scales(params, span.high + tolerance, steps, 0).most};
  }
  const double distance = std::max({0.0, span.low - scale, scale - span.high});
  if (margin != nullptr) {
    *margin = {range_text(allowed), span_text(span), text(scale), distance, tolerance};
    if (span.low == span.high) margin->only = span.low;
  }
  if (distance <= tolerance) {
    if (!symmetric) return std::nullopt;
    return allowed.searched.empty()
               ? check_bins(scale, allowed.bins, divisor)
               : check_searched(scale, allowed.searched, policy.divisor / divisor, tolerance, policy);
  }
  return ParamFault{Facet::scale, span_text(span), text(scale), distance / tolerance};
}

std::optional<ParamFault> check_zero_point(const QuantParams& params, const AllowedRange& allowed, bool symmetric,
                                           double divisor, const converters::Policy& policy) {
  const auto limits = core::integer_limits(params.type);
  const std::int64_t actual = params.zero_point.front();
  const double scale = params.scale.front();
  if (symmetric) {
    // The code of wider unsigned types lies where that of uint8 does: in the middle, or one below.
    const std::int64_t below = centre_of(DType::uint8) - allowed.unsigned_center;
    const bool unsigned_codes = is_wide_unsigned(params.type);
    const std::int64_t expected = centre_of(params.type) - (unsigned_codes ? below : 0);
    // Unsigned codes that use all their steps have zero halfway between two codes: either is the nearest.
    const bool halfway = limits.low == 0 && 2 * divisor == static_cast<double>(limits.high);
    if (actual == expected || (halfway && std::abs(static_cast<double>(actual) - divisor) == 0.5)) return std::nullopt;
    return ParamFault{Facet::zero_point, std::to_string(expected), std::to_string(actual),
                      static_cast<double>(std::abs(actual - expected))};
  }
  const double error = allowed.slack / scale + kStepsError * std::abs(allowed.low.low) / scale;
  const auto low = static_cast<double>(limits.low), high = static_cast<double>(limits.high);
  if (policy.zero == converters::ZeroRule::exact) {
    const WidenedSpan widened = widened_span(allowed, high - low);
    const double below = static_cast<double>(actual) - low;
    if (below >= widened.least_below && below <= widened.most_below) return std::nullopt;
    return ParamFault{Facet::zero_point, fmt::format("{} … {}", low + widened.least_below, low + widened.most_below),
                      std::to_string(actual), std::max(widened.least_below - below, below - widened.most_below)};
  }
  const double least = low - allowed.low.high / scale - error - 0.5;
  const double most = low - allowed.low.low / scale + error + 0.5;
  const auto z = static_cast<double>(actual);
  if (z >= std::min(least, high) && z <= std::max(most, low) && z >= low && z <= high) return std::nullopt;
  const double first = std::clamp(reference::round_half_even(low - allowed.low.high / scale), low, high);
  const double last = std::clamp(reference::round_half_even(low - allowed.low.low / scale), low, high);
  return ParamFault{Facet::zero_point, first == last ? fmt::format("{}", first) : fmt::format("{} … {}", first, last),
                    std::to_string(actual), std::max(first - z, z - last)};
}

/// A search over one magnitude for both ends leaves one of them where the data end, unless both are cut.
std::optional<ParamFault> check_threshold(const QuantParams& params, const AllowedRange& allowed) {
  const auto limits = core::integer_limits(params.type);
  const double scale = params.scale.front();
  const auto zero = static_cast<double>(params.zero_point.front());
  const double below = (zero - static_cast<double>(limits.low)) * scale;
  const double above = (static_cast<double>(limits.high) - zero) * scale;
  const bool lower_is_shorter = -allowed.low.low < allowed.high.high;
  const double shorter = std::max(0.0, lower_is_shorter ? -allowed.low.low : allowed.high.high);
  // Rounding the zero_point moves both ends by half a step.
  const double tolerance = scale + 2 * *allowed.threshold_bin + allowed.slack;
  const double off = std::min(std::abs(below - above), std::abs((lower_is_shorter ? below : above) - shorter));
  if (off <= tolerance) return std::nullopt;
  return ParamFault{Facet::zero_point, "one that leaves the shorter side as it is, or cuts both at one magnitude",
                    fmt::format("{}: [{}, {}]", params.zero_point.front(), text(-below), text(above)), off / tolerance};
}

}  // namespace

std::string range_text(const AllowedRange& range) {
  const auto end = [](const Interval& interval) {
    if (interval.low == interval.high) return core::exact_text64(interval.low);
    return fmt::format("{} … {}", core::exact_text64(interval.low), core::exact_text64(interval.high));
  };
  return fmt::format("{}[{}, {}]", range.fixed ? "fixed " : "", end(range.low), end(range.high));
}

double float32_ulp(double value) {
  const auto single = static_cast<float>(std::abs(value));
  return static_cast<double>(std::nextafter(single, std::numeric_limits<float>::infinity())) -
         static_cast<double>(single);
}

AllowedRange allowed_range(const std::string& tensor, const TensorRange& range,
                           const std::vector<double>* sorted_values, const converters::Options& options,
                           const converters::Policy& policy, bool first_batch_bins,
                           const std::vector<double>* searched) {
  AllowedRange allowed;
  allowed.tensor = tensor;
  allowed.slack = range.is_input ? 0 : range.slack;
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  allowed.low = {low, low};
  allowed.high = {high, high};
  using converters::Method;
  if (options.method == Method::percentile && sorted_values != nullptr && !sorted_values->empty()) {
    set_percentile(allowed, *sorted_values, options.percentile);
  } else if (options.method == Method::entropy) {
    set_entropy(allowed, range, options, policy, first_batch_bins, searched);
  } else if (options.method == Method::mse || options.method == Method::given) {
    const double beyond = beyond_of_search(low, high, policy);
    allowed.low = {low - beyond, 0};
    allowed.high = {0, high + beyond};
  }
  using converters::Averaging;
  if (policy.averaging == Averaging::batch_mean || policy.averaging == Averaging::batch_ends ||
      policy.averaging == Averaging::widened_batch_mean) {
    set_batch_mean(allowed, range, options.symmetric, policy.averaging);
  } else if (policy.averaging == Averaging::batch_quantiles) {
    if (options.method == Method::percentile) set_batch_quantiles(allowed, range);
  } else if (policy.averaging != Averaging::none) {
    allowed.low.high = std::max(allowed.low.high, std::min(range.inner_low, 0.0));
    allowed.high.low = std::min(allowed.high.low, std::max(range.inner_high, 0.0));
  }
  allowed.high.low = std::max(allowed.high.low, allowed.low.low + policy.range_floor);
  allowed.high.high = std::max(allowed.high.high, allowed.low.high + policy.range_floor);
  return allowed;
}

WidenedSpan widened_span(const AllowedRange& allowed, double steps) {
  WidenedSpan span{std::numeric_limits<double>::infinity(), 0, steps, 0, steps};
  const bool point = allowed.low.low == allowed.low.high && allowed.high.low == allowed.high.high;
  for (const double lo : {allowed.low.low, allowed.low.high}) {
    for (const double hi : {allowed.high.low, allowed.high.high}) {
      if (!(hi - lo > 0)) {
        span.least_scale = 0;
        continue;
      }
      // Codes below zero, rounded from a quotient whose ends are off by as much as the slack.
      const double quotient = -lo * steps / (hi - lo);
      const double error = kStepsError * quotient + 2 * allowed.slack * steps / (hi - lo);
      const auto codes = [&](double count) { return std::clamp(reference::round_half_even(count), 0.0, steps); };
      const double fewest = codes(quotient - error), most = codes(quotient + error);
      // The scale is least next to the quotient itself, and most at an end.
      for (const double count : {fewest, std::floor(quotient), std::ceil(quotient), most}) {
        const double below = std::clamp(count, fewest, most), above = steps - below;
        const double scale = std::max(above > 0 ? hi / above : 0, below > 0 ? -lo / below : 0);
        span.least_scale = std::min(span.least_scale, scale);
        span.most_scale = std::max(span.most_scale, scale);
        span.least_below = std::min(span.least_below, below);
        span.most_below = std::max(span.most_below, below);
      }
    }
  }
  const auto fewer = [steps](double below) {
    return std::min(below > 0 ? below : steps, below < steps ? steps - below : steps);
  };
  span.fewest = std::min(fewer(span.least_below), fewer(span.most_below));
  if (!point) {
    // Between the ends of an interval no scale is below that of the narrowest range, and none is stretched by more than
    // half a code of the shorter side.
    span.least_scale = std::min(span.least_scale, (allowed.high.low - allowed.low.high) / steps);
    span.most_scale =
        std::max(span.most_scale, (allowed.high.high - allowed.low.low) / steps * span.fewest / (span.fewest - 0.5));
    span.least_below = 0;
    span.most_below = steps;
  }
  return span;
}

double beyond_of_search(double low, double high, const converters::Policy& policy) {
  const double largest = std::max(-low, high);
  return std::max(std::max(largest, high - low) / kBins, policy.search_beyond * largest);
}

std::optional<ParamFault> check_params(const QuantParams& params, const AllowedRange& allowed, bool symmetric,
                                       const converters::Policy& policy, ScaleMargin* margin) {
  if (params.scale.size() != 1 || params.zero_point.size() != 1) {
    return ParamFault{Facet::count, "1 scale", fmt::format("{} scales", params.scale.size()), 0};
  }
  const double scale = params.scale.front();
  if (!std::isfinite(scale) || !(scale > 0)) {
    return ParamFault{Facet::scale, "a positive finite scale", core::exact_text64(scale), 0};
  }
  // Which of the two types a range that begins next to zero gets, its float32 error decides.
  const bool nonnegative = params.type == DType::uint8 &&
                           policy.unsigned_codes == converters::UnsignedCodes::nonnegative &&
                           allowed.low.high >= -allowed.slack;
  symmetric = symmetric && !nonnegative;
  // A range without extent fixes no zero_point: zero has a code wherever it lies.
  const bool empty = may_be_empty(allowed, params.type, symmetric, symmetric_steps(params.type, policy), policy);
  std::optional<ParamFault> fault;
  for (const double divisor : divisors(params.type, policy)) {
    auto found = check_scale(params, allowed, symmetric, divisor, policy, margin);
    if (!found && !empty) found = check_zero_point(params, allowed, symmetric, divisor, policy);
    const bool settled = !found;
    if (settled || !fault || fault->facet != Facet::zero_point) fault = std::move(found);
    if (settled) break;
  }
  return fault || empty || symmetric || !allowed.threshold_bin ? fault : check_threshold(params, allowed);
}

}  // namespace assay::judge
