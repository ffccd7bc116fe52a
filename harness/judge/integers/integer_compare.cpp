#include "harness/judge/integers/integer_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/float_format.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/alignment/layers.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

constexpr double kSmallestFloat = 0x1p-149;

void add(Comparison& comparison, const Difference& difference) {
  ++comparison.wrong;
  comparison.worst_steps = std::max(comparison.worst_steps, difference.steps);
  comparison.not_a_number = comparison.not_a_number || std::isnan(difference.actual);
  if (comparison.shown.size() < Comparison::kShown) {
    comparison.shown.push_back(difference);
  }
}

void compare_codes(Comparison& comparison, const Enclosure& expected, const Tensor& actual) {
  const std::span<const std::int64_t> low = expected.low_or_centre().integers();
  const std::span<const std::int64_t> high = expected.high_or_centre().integers();
  const std::span<const std::int64_t> values = actual.integers();
  for (std::size_t i = 0; i < values.size(); ++i) {
    comparison.ambiguous += low[i] != high[i] ? 1 : 0;
    if (values[i] < low[i] || values[i] > high[i]) {
      const auto outside = static_cast<double>(values[i] < low[i] ? low[i] - values[i] : values[i] - high[i]);
      add(comparison, {static_cast<std::int64_t>(i), static_cast<double>(low[i]), static_cast<double>(high[i]),
                       static_cast<double>(values[i]), outside});
    }
  }
}

void compare_reals(Comparison& comparison, const Enclosure& expected, const Tensor& actual, double level_error,
                   double unit) {
  const std::span<const double> low = expected.low_or_centre().reals();
  const std::span<const double> high = expected.high_or_centre().reals();
  const std::span<const double> values = actual.reals();
  const bool grid = expected.codes != nullptr && expected.codes->scale.size() == 1;
  const double scale = grid ? expected.codes->scale[0] : 0;
  // The value of a code may be stored in 16 bits, as its scale is.
  const double relative =
      std::max(expected.relative, std::max(unit, expected.codes != nullptr ? expected.codes->unit : 0));
  const std::span<const double> centre = expected.centre->reals();
  const auto [least, most] = std::minmax_element(centre.begin(), centre.end());
  const double step = centre.empty() ? 0 : (*most - *least) / 256;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The result is stored as float32: a last rounding (a subnormal step at the bottom), and one of a
    // dequantization computed exactly above.
    const double error = relative + 2 * kFloatUnit;
    const double from = low[i] - error * std::fabs(low[i]) - level_error - kSmallestFloat;
    const double to = high[i] + error * std::fabs(high[i]) + level_error + kSmallestFloat;
    bool inside = values[i] >= from && values[i] <= to;
    if (inside && grid && low[i] != high[i]) {
      const double code = values[i] / scale;
      const double beside = (4 * kFloatUnit + relative) * std::max(1.0, std::fabs(code)) + level_error / scale;
      const core::DType type = expected.codes->type;
      const double nearest = core::is_real(type) ? core::nearest_code(code, type) : std::nearbyint(code);
      inside = std::fabs(code - nearest) <= beside;
    }
    // Beside float32 noise: another code, or where there is none, as much as one of 256 codes over the range.
    comparison.ambiguous += (grid ? low[i] != high[i] : high[i] - low[i] > step) ? 1 : 0;
    if (!inside) {
      const double outside = std::max(low[i] - values[i], values[i] - high[i]);
      add(comparison, {static_cast<std::int64_t>(i), low[i], high[i], values[i], grid ? outside / scale : 0});
    }
  }
}

std::string number(double value, bool code) {
  return code ? std::to_string(static_cast<std::int64_t>(value)) : core::exact_text(static_cast<float>(value));
}

}  // namespace

Comparison compare_integers(const Enclosure& expected, const Tensor& actual, double level_error, double unit) {
  Comparison comparison;
  comparison.codes = !actual.is_real();
  comparison.shape = actual.shape();
  const Tensor& centre = *expected.centre;
  if (actual.shape() != centre.shape() || actual.is_real() != centre.is_real() ||
      (comparison.codes && actual.type() != centre.type())) {
    comparison.misfit =
        fmt::format("expected {} {}, actual {} {}", core::dtype_name(centre.type()), core::shape_text(centre.shape()),
                    core::dtype_name(actual.type()), core::shape_text(actual.shape()));
    return comparison;
  }
  comparison.elements = actual.size();
  comparison.codes ? compare_codes(comparison, expected, actual)
                   : compare_reals(comparison, expected, actual, level_error, unit);
  return comparison;
}

std::string difference_text(const Comparison& comparison, const Difference& difference) {
  std::string expected = number(difference.low, comparison.codes);
  if (difference.low != difference.high) {
    expected += " to " + number(difference.high, comparison.codes);
  }
  return fmt::format("{}{}: expected {}, actual {}", comparison.tensor, index_text(difference.index, comparison.shape),
                     expected, number(difference.actual, comparison.codes));
}

}  // namespace assay::judge
