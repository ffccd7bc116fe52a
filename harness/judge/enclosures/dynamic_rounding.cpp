#include "harness/judge/enclosures/dynamic_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "reference/dynamic_quantization.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using core::TensorPtr;

constexpr std::int64_t kLastCode = 255;
constexpr auto kSteps = static_cast<double>(kLastCode);
constexpr std::int64_t kMostZeroPoints = 2;
/// The scale's difference and quotient are rounded to float32, and so is what is divided by it.
constexpr double kScaleError = 4 * kFloatUnit;
/// What all codes together move by where the scale is rounded to a denormal number of float32, or to zero.
constexpr double kVanishing = kSteps * 0x1p-149;

/// The least and the largest value, zero included, of tensors whose elements lie between two others.
struct Extremes {
  double least_low = 0, least_high = 0, most_low = 0, most_high = 0;
  [[nodiscard]] double coarsest(bool symmetric) const {
    return (symmetric ? 2 * std::max(-least_low, most_high) * kSteps / (kSteps - 1) : most_high - least_low) / kSteps;
  }
  [[nodiscard]] double finest() const { return std::max(0.0, most_low - least_high) / kSteps; }
};

Extremes extremes_of(const Enclosure& explicit_ends) {
  Extremes found;
  for (const double value : explicit_ends.low_or_centre().reals()) {
    found.least_low = std::min(found.least_low, value);
    found.most_low = std::max(found.most_low, value);
  }
  for (const double value : explicit_ends.high_or_centre().reals()) {
    found.least_high = std::min(found.least_high, value);
    found.most_high = std::max(found.most_high, value);
  }
  // Each is an extreme of one side's values: the least low end, and the least of the high ends.
  return found;
}

Enclosure hull(const Enclosure& a, const Enclosure& b) {
  const Enclosure one = with_explicit_ends(a), other = with_explicit_ends(b);
  Tensor low = one.low_or_centre(), high = one.high_or_centre();
  for (std::size_t i = 0; i < low.reals().size(); ++i) {
    low.reals()[i] = std::min(low.reals()[i], other.low_or_centre().reals()[i]);
    high.reals()[i] = std::max(high.reals()[i], other.high_or_centre().reals()[i]);
  }
  Enclosure both = exact_enclosure(a.centre);
  both.low = std::make_shared<const Tensor>(std::move(low));
  both.high = std::make_shared<const Tensor>(std::move(high));
  return both;
}

struct Between {
  double least = 0, centre = 0, most = 0;
};

/// The values of the codes under any such scale and any zero point from `first` to `last`.
core::Result<Enclosure> through_codes_of(const Enclosure& x, Between scale, std::int64_t first, std::int64_t last,
                                         const Style& style) {
  const double error = std::max(scale.most / scale.centre - 1, 1 - scale.least / scale.centre);
  Enclosure values = x;
  values.relative += error;
  std::optional<Enclosure> all;
  for (std::int64_t zero = first; zero <= last; ++zero) {
    const QuantParams params{{scale.centre}, {std::clamp<std::int64_t>(zero, 0, kLastCode)}, core::DType::uint8, {}};
    const auto codes = quantize_enclosure(values, params, style, false);
    if (!codes) return codes.error();
    auto back = dequantize_enclosure(*codes, params, style);
    if (!back) return back.error();
    back->relative += error;
    all = all ? hull(*all, *back) : *std::move(back);
  }
  return *std::move(all);
}

bool is_finite(const Enclosure& explicit_ends) {
  const auto finite = [](double v) { return std::isfinite(v); };
  return std::ranges::all_of(explicit_ends.low_or_centre().reals(), finite) &&
         std::ranges::all_of(explicit_ends.high_or_centre().reals(), finite);
}

core::Error no_range() {
  return {core::ErrorKind::invalid_data, "NaN and infinities leave no range to quantize", {}, {}, {}};
}

}  // namespace

double dynamic_step(std::span<const double> values, bool symmetric) {
  Extremes found;
  for (const double value : values) {
    found.least_low = std::min(found.least_low, value);
    found.most_high = std::max(found.most_high, value);
  }
  return found.coarsest(symmetric);
}

TensorPtr rounded_dynamically(const TensorPtr& values) {
  if (!values->is_real() || !std::ranges::all_of(values->reals(), [](double v) { return std::isfinite(v); }))
    return values;
  const reference::DynamicQuantization codes = reference::quantize_dynamically(values->reals());
  Tensor result = *values;
  reference::dequantize(codes.codes, codes.scale, codes.zero_point, result.reals());
  return std::make_shared<const Tensor>(std::move(result));
}

Enclosure rounded_dynamically(const Enclosure& values, bool symmetric, double extra) {
  if (!values.centre->is_real()) return values;
  const Enclosure ends = with_explicit_ends(values);
  const double step = extremes_of(ends).coarsest(symmetric) * (1 + kScaleError);
  Tensor low = ends.low_or_centre(), high = ends.high_or_centre();
  for (std::size_t i = 0; i < low.reals().size(); ++i) {
    if (low.reals()[i] == 0 && high.reals()[i] == 0) continue;
    const double moved = (0.5 + extra) * step + kVanishing;
    low.reals()[i] -= moved + kScaleError * std::fabs(low.reals()[i]);
    high.reals()[i] += moved + kScaleError * std::fabs(high.reals()[i]);
  }
  Enclosure result = exact_enclosure(values.centre);
  result.low = std::make_shared<const Tensor>(std::move(low));
  result.high = std::make_shared<const Tensor>(std::move(high));
  return result;
}

core::Result<Enclosure> through_dynamic_codes(const Enclosure& x, const Style& style) {
  const Enclosure ends = with_explicit_ends(x);
  if (!is_finite(ends)) return no_range();
  const Extremes found = extremes_of(ends);
  const double least = found.finest() * (1 - kScaleError), most = found.coarsest(false) * (1 + kScaleError);
  if (most == 0) return exact_enclosure(x.centre);
  if (!(least >= static_cast<double>(std::numeric_limits<float>::min()))) return rounded_dynamically(x, false, 0);
  const auto zero_point = [](double low, double scale) { return static_cast<std::int64_t>(std::rint(-low / scale)); };
  const std::int64_t first = zero_point(found.least_high, most * (1 + kScaleError));
  const std::int64_t last = zero_point(found.least_low, least * (1 - kScaleError));
  if (last - first >= kMostZeroPoints) return rounded_dynamically(x, false, 0);
  const double scale = reference::quantize_dynamically(x.centre->reals()).scale;
  return through_codes_of(x, {least, scale, most}, first, last, style);
}

core::Result<Enclosure> through_codes(const Enclosure& x, const Enclosure& scale, const Enclosure& zero_point,
                                      const Style& style) {
  const auto unknown = [](std::string why) {
    return core::Error{core::ErrorKind::unsupported, std::move(why), {}, {}, {}};
  };
  const Enclosure scales = with_explicit_ends(scale);
  if (scales.centre->size() != 1 || zero_point.centre->size() != 1 || zero_point.centre->type() != core::DType::uint8)
    return unknown("no rule for computed parameters but one scale and one zero point of uint8");
  if (!is_finite(with_explicit_ends(x)) || !is_finite(scales)) return no_range();
  const Between between{scales.low_or_centre().as_real(0), scales.centre->as_real(0),
                        scales.high_or_centre().as_real(0)};
  const std::int64_t first = zero_point.low_or_centre().integers().front();
  const std::int64_t last = zero_point.high_or_centre().integers().front();
  if (!(between.least > 0) || last - first >= kMostZeroPoints)
    return unknown("the computed scale may be zero, or the zero point is one of many");
  return through_codes_of(x, between, first, last, style);
}

}  // namespace assay::judge
