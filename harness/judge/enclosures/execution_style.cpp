#include "harness/judge/enclosures/execution_style.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "harness/core/float_format.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Result;
using core::Tensor;

constexpr Arithmetic kExact{};

/// Integer sums; everything between DequantizeLinear and QuantizeLinear that is not one is computed in float32.
constexpr Arithmetic integer_sums(double multiplier_error, bool rounds_accumulator = false) {
  return {.float_unit = kFloatUnit,
          .accumulator_unit = kDoubleUnit,
          .multiplier_error = multiplier_error,
          .integer_accumulator = true,
          .rounds_accumulator = rounds_accumulator};
}

constexpr Arithmetic kFloatGraph{.float_unit = kFloatUnit};

// Roundings of acc·M in float32: the product s_x·s_w, its division by s_y, acc itself, the multiplication.
constexpr double kFloatMultiplier = 4 * kFloatUnit;
// The reciprocal of s_y is rounded on its own, and multiplied in a step of its own.
constexpr double kReciprocal = 6 * kFloatUnit;
// A 31-bit mantissa of M, rounded, M itself being made of float32 scales in double precision.
constexpr double kFixed31 = 0x1p-31;
constexpr double kDoubleMultiplier = 4 * kDoubleUnit;

constexpr Style pure(StyleName name, Ties ties, InputDivision input) {
  return {.name = name, .ties = ties, .input = input, .arithmetic = kExact};
}
constexpr Style integer(StyleName name, Ties ties, InputDivision input, double multiplier_error,
                        bool rounds_accumulator = false) {
  return {.name = name,
          .ties = ties,
          .input = input,
          .arithmetic = integer_sums(multiplier_error, rounds_accumulator),
          .dequantize_error = kFloatUnit,
          .divide_error = kDoubleUnit};
}
/// `style` where a real bias is made a code first, since the accumulator takes nothing else.
constexpr Style with_rounded_bias(Style style) {
  style.arithmetic.rounds_bias = true;
  return style;
}
constexpr Style rounded_bias(InputDivision input) {
  return with_rounded_bias(integer(StyleName::rounded_bias, Ties::either, input, kFloatMultiplier));
}
constexpr Style double_rounding(InputDivision input) {
  return integer(StyleName::double_rounding, Ties::either, input, kFixed31, true);
}
constexpr Style floating(InputDivision input) {
  return {.name = StyleName::float32,
          .ties = Ties::either,
          .input = input,
          .arithmetic = kFloatGraph,
          .dequantize_error = kFloatUnit,
          .divide_error = kFloatUnit};
}

// The first rows are the second ones without a single allowance: one plain run settles most artifacts.
constexpr std::array kStatedStyles = {
    pure(StyleName::half_even, Ties::even, InputDivision::exact),
    pure(StyleName::half_even, Ties::even, InputDivision::float32),
    pure(StyleName::half_away, Ties::away, InputDivision::exact),
    pure(StyleName::half_away, Ties::away, InputDivision::float32),
    pure(StyleName::half_up, Ties::up, InputDivision::exact),
    pure(StyleName::half_up, Ties::up, InputDivision::float32),
    pure(StyleName::half_even_after_zero_point, Ties::even_after_zero_point, InputDivision::exact),
    integer(StyleName::half_even, Ties::even, InputDivision::exact, kDoubleMultiplier),
    integer(StyleName::half_even, Ties::even, InputDivision::float32, kDoubleMultiplier),
    integer(StyleName::half_away, Ties::away, InputDivision::exact, kDoubleMultiplier),
    integer(StyleName::half_away, Ties::away, InputDivision::float32, kDoubleMultiplier),
    integer(StyleName::half_up, Ties::up, InputDivision::exact, kDoubleMultiplier),
    integer(StyleName::half_up, Ties::up, InputDivision::float32, kDoubleMultiplier),
    integer(StyleName::half_even_after_zero_point, Ties::even_after_zero_point, InputDivision::exact,
            kDoubleMultiplier),
    integer(StyleName::fixed_31, Ties::either, InputDivision::exact, kFixed31),
    integer(StyleName::fixed_31, Ties::either, InputDivision::float32, kFixed31),
    integer(StyleName::fixed_31, Ties::either, InputDivision::reciprocal, kFixed31),
    integer(StyleName::float_multiply, Ties::either, InputDivision::exact, kFloatMultiplier),
    integer(StyleName::float_multiply, Ties::either, InputDivision::float32, kFloatMultiplier),
    integer(StyleName::reciprocal, Ties::either, InputDivision::exact, kReciprocal),
    integer(StyleName::reciprocal, Ties::either, InputDivision::float32, kReciprocal),
    integer(StyleName::reciprocal, Ties::either, InputDivision::reciprocal, kReciprocal),
    double_rounding(InputDivision::exact),
    double_rounding(InputDivision::float32),
    rounded_bias(InputDivision::exact),
    rounded_bias(InputDivision::float32),
    with_rounded_bias(double_rounding(InputDivision::exact)),
    with_rounded_bias(double_rounding(InputDivision::float32)),
};
// Engines that do not say how they compute.
constexpr std::array kUnstatedStyles = {
    double_rounding(InputDivision::any), integer(StyleName::reciprocal, Ties::either, InputDivision::any, kReciprocal),
    floating(InputDivision::float32),    floating(InputDivision::reciprocal),
    floating(InputDivision::any),
};

/// The styles in fixed point with inputs that are rounded in another way, as std::round(x / s) in TensorFlow Lite.
constexpr auto with_input_ties(Ties ties) {
  std::array styles = {
      integer(StyleName::fixed_31, Ties::either, InputDivision::float32, kFixed31),
      integer(StyleName::fixed_31, Ties::either, InputDivision::reciprocal, kFixed31),
      integer(StyleName::reciprocal, Ties::either, InputDivision::float32, kReciprocal),
      integer(StyleName::reciprocal, Ties::either, InputDivision::reciprocal, kReciprocal),
      double_rounding(InputDivision::float32),
      double_rounding(InputDivision::reciprocal),
      with_rounded_bias(double_rounding(InputDivision::float32)),
  };
  for (Style& style : styles) style.input_ties = ties;
  return styles;
}

template <std::size_t... Counts>
constexpr auto joined(const std::array<Style, Counts>&... parts) {
  std::array<Style, (Counts + ...)> all{};
  auto end = all.begin();
  ((end = std::copy(parts.begin(), parts.end(), end)), ...);
  return all;
}

constexpr std::array kIntegerStyles =
    joined(kStatedStyles, with_input_ties(Ties::away), with_input_ties(Ties::up), kUnstatedStyles);

constexpr std::array kFloatStyles = {
    pure(StyleName::half_even, Ties::even, InputDivision::exact),
    pure(StyleName::half_even, Ties::even, InputDivision::float32),
    floating(InputDivision::float32),
    floating(InputDivision::reciprocal),
    floating(InputDivision::any),
};

/// The quotient a graph input's code is rounded from.
double input_quotient(InputDivision division, double x, double scale) {
  const auto x32 = static_cast<float>(x);
  const auto scale32 = static_cast<float>(scale);
  switch (division) {
    case InputDivision::float32:
      return static_cast<double>(x32 / scale32);
    case InputDivision::reciprocal:
      return static_cast<double>(x32 * (1.0F / scale32));
    default:
      return x / scale;
  }
}

bool has_nan(std::span<const double> values) {
  bool found = false;
  for (const double value : values) {
    found |= std::isnan(value);
  }
  return found;
}

/// Codes of values that nothing makes uncertain, by ONNX's own rule; none of them is NaN.
std::vector<std::int64_t> quantize_exactly(std::span<const double> values, const QuantParams& params,
                                           const ChannelIndex& index, InputDivision division) {
  std::vector<std::int64_t> codes(values.size());
  std::vector<double> quotients(division == InputDivision::exact ? 0 : values.size());
  index.for_each_run(values.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    std::span<const double> run = values.subspan(first, length);
    double scale = params.scale[channel];
    if (division != InputDivision::exact) {
      for (std::size_t i = 0; i < length; ++i) {
        quotients[first + i] = input_quotient(division, run[i], scale);
      }
      run = std::span(quotients).subspan(first, length);
      scale = 1;
    }
    reference::quantize(run, scale, params.zero_point[channel], params.type, std::span(codes).subspan(first, length));
  });
  return codes;
}

/// The code after `code` of a floating-point type, away from zero or towards it.
double next_code(double code, double sign, core::DType type) {
  const double outward =
      code == 0 || (code > 0) == (sign > 0) ? 1 : 1 - 0x1p-20;  // the gap below a power of two is its own
  return core::nearest_code(code + sign * 2 * core::half_gap(code * outward, type), type);
}

/// The same for codes of a floating-point type: `low` to `high` are quotients. What lies at a tie in exact arithmetic
/// alone falls to the even code, as QuantizeLinear's text has it.
Enclosure real_codes(const Enclosure& x, const QuantParams& params, const ChannelIndex& index, double error,
                     Ties ties) {
  const std::span<const double> centre = x.centre->reals();
  const std::span<const double> low = x.low_or_centre().reals(), high = x.high_or_centre().reals();
  std::vector<double> codes(centre.size()), lows(centre.size()), highs(centre.size());
  bool point = true;
  index.for_each_run(centre.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
    const double scale = params.scale[channel];
    const auto nearest = [&](double quotient) { return core::nearest_code(quotient, params.type); };
    for (std::size_t i = first; i < first + length; ++i) {
      const double from = low[i] / scale, to = high[i] / scale;
      const double slack = error + (ties == Ties::even ? 0 : 0x1p-40);
      codes[i] = nearest(centre[i] / scale);
      lows[i] = std::min(codes[i], nearest(from - slack * std::fabs(from)));
      highs[i] = std::max(codes[i], nearest(to + slack * std::fabs(to)));
      point = point && lows[i] == highs[i];
    }
  });
  const auto tensor = [&](std::vector<double> values) {
    return std::make_shared<const Tensor>(params.type, x.centre->shape(), std::move(values));
  };
  Enclosure result = exact_enclosure(tensor(std::move(codes)));
  if (!point) {
    result.low = tensor(std::move(lows));
    result.high = tensor(std::move(highs));
  }
  return result;
}

struct CodeRange {
  std::int64_t low, centre, high;
};

class Quantizing {
 public:
  Quantizing(const QuantParams& params, Ties ties) : ties_(ties), limits_(core::integer_limits(params.type)) {}

  /// `low` <= `centre` <= `high`.
  [[nodiscard]] CodeRange codes(double low, double centre, double high, double error, std::int64_t zero_point) const {
    const double from = low - error * std::fabs(low);
    const double to = high + error * std::fabs(high);
    // Mostly no tie lies within the ends, and every rule rounds all of it to one integer.
    const double nearest = (centre + kToInteger) - kToInteger;
    if (from > nearest - 0.5 && to < nearest + 0.5 && std::fabs(centre) < kSmall) {
      const std::int64_t code = saturate(nearest, zero_point);
      return {code, code, code};
    }
    const std::int64_t code = saturate(round_by(ties_, centre, zero_point), zero_point);
    CodeRange range{code, code, code};
    const bool exact_tie = centre - std::floor(centre) == 0.5;
    if (from == to && (ties_ != Ties::either || !exact_tie)) {
      return range;
    }
    if (exact_tie && ties_ != Ties::either && to - from < kSettledTie) {
      return range;
    }
    // A code q is admissible where [q − ½, q + ½] meets [from, to].
    range.low = std::min(range.low, saturate(std::ceil(from - 0.5), zero_point));
    range.high = std::max(range.high, saturate(std::floor(to + 0.5), zero_point));
    return range;
  }

 private:
  // float64 computed the tie exactly, with only rounding slack around it: the rule decides.
  static constexpr double kSettledTie = 0x1p-40;
  // Added to a magnitude below kSmall and taken off again, it leaves the nearest integer: float64 has no bits for less.
  static constexpr double kToInteger = 0x1.8p52, kSmall = 0x1p50;

  [[nodiscard]] std::int64_t saturate(double rounded, std::int64_t zero_point) const {
    return reference::saturate(rounded + static_cast<double>(zero_point), limits_);
  }

  Ties ties_;
  core::IntegerLimits limits_;
};

/// QuantizeLinear's own text is plain about ties and about the order; engines differ in their requantization.
Ties input_ties(const Style& style) {
  const bool open = style.ties == Ties::either && style.input != InputDivision::any;
  if (open) return style.input_ties;
  return style.ties == Ties::even_after_zero_point ? Ties::even : style.ties;
}

/// What a first rounding may add, in steps of `scale`: codes that move, and products of codes, pass through the same
/// two roundings. M = m₀·2⁻ⁿ, half a unit before the shift is ½·2⁻ⁿ ≤ min(M, ¼) steps; without a shift (n = 0) there is
/// one rounding only.
double first_rounding(const Enclosure& x, const Style& style, double scale) {
  double extra = 0;
  if (style.arithmetic.rounds_accumulator) {
    for (const double step : x.steps) {
      extra = std::max(extra, step < scale / 2 ? std::min(step / scale, 0.25) : 0);
    }
  }
  return extra;
}

}  // namespace

std::span<const Style> styles_for(const converters::Policy& policy) {
  if (policy.arithmetic == converters::EngineArithmetic::floating) {
    return kFloatStyles;
  }
  const std::span<const Style> all(kIntegerStyles);
  return policy.arithmetic == converters::EngineArithmetic::integer ? all.first(all.size() - kUnstatedStyles.size())
                                                                    : all;
}

std::optional<Style> style_hull(std::span<const Style> styles) {
  const bool exact = std::ranges::all_of(styles, [](const Style& style) { return style.arithmetic.float_unit == 0; });
  Style hull{.name = StyleName::hull,
             .ties = Ties::either,
             .input = InputDivision::any,
             .arithmetic = exact ? kExact : integer_sums(0)};
  Arithmetic& widest = hull.arithmetic;
  for (const Style& style : styles) {
    const Arithmetic& own = style.arithmetic;
    if (!own.integer_accumulator && own.float_unit > 0) {
      return std::nullopt;  // sums of products in float: wider than an exact accumulator's
    }
    widest.float_unit = std::max(widest.float_unit, own.float_unit);
    widest.accumulator_unit = std::max(widest.accumulator_unit, own.accumulator_unit);
    widest.multiplier_error = std::max(widest.multiplier_error, own.multiplier_error);
    widest.rounds_accumulator = widest.rounds_accumulator || own.rounds_accumulator;
    widest.rounds_bias = widest.rounds_bias || own.rounds_bias;
    hull.dequantize_error = std::max(hull.dequantize_error, style.dequantize_error);
    hull.divide_error = std::max(hull.divide_error, style.divide_error);
  }
  return hull;
}

double round_by(Ties ties, double value, std::int64_t zero_point) {
  switch (ties) {
    case Ties::away:
      return std::round(value);
    case Ties::up:
      return std::floor(value + 0.5);
    case Ties::even_after_zero_point: {
      const auto shift = static_cast<double>(zero_point % 2);
      return reference::round_half_even(value + shift) - shift;
    }
    default:
      return reference::round_half_even(value);
  }
}

Result<Enclosure> quantize_enclosure(const Enclosure& x, const QuantParams& params, const Style& style, bool is_input) {
  const Result<ChannelIndex> index = ChannelIndex::make(x.centre->shape(), params);
  if (!index) {
    return index.error();
  }
  const auto count = static_cast<std::size_t>(x.centre->size());
  const std::span<const double> centre = x.centre->reals();
  const std::span<const double> low = x.low_or_centre().reals();
  const std::span<const double> high = x.high_or_centre().reals();
  const bool input = is_input && x.is_exact(), point = x.is_point();
  // A division that rounds is a relative error of the quotient; together with those of x, to second order.
  const double divide_error =
      x.accumulator ? style.divide_error : std::max(style.divide_error, style.arithmetic.float_unit);
  double error = (x.relative + divide_error) * (1 + x.relative + divide_error);
  if (input) {
    error = style.input == InputDivision::any ? gamma(3, kFloatUnit) : 0;
  }
  const auto tensor = [&](std::vector<std::int64_t> values) {
    return std::make_shared<const Tensor>(params.type, x.centre->shape(), std::move(values));
  };
  if (has_nan(centre)) {
    return core::Error{
        .kind = core::ErrorKind::invalid_data, .message = "NaN has no code", .node = {}, .op = {}, .tensor = {}};
  }
  if (core::is_real(params.type)) {
    // A float32 quotient may be any that lies within its rounding.
    const double rounded = input && style.input == InputDivision::exact ? 0 : std::max(error, kFloatUnit);
    return real_codes(x, params, *index, rounded, input ? input_ties(style) : style.ties);
  }
  if (x.is_exact() && error == 0 && style.ties == Ties::even) {
    const InputDivision division = input ? style.input : InputDivision::exact;
    return exact_enclosure(tensor(quantize_exactly(centre, params, *index, division)));
  }
  const Quantizing quantizing(params, input ? input_ties(style) : style.ties);
  std::vector<std::int64_t> codes(count), codes_low, codes_high;  // the ends from the first uncertain element on
  index->for_each_run(count, [&](std::size_t first, std::size_t length, std::size_t channel) {
    const double scale = params.scale[channel];
    const std::int64_t zero_point = params.zero_point[channel];
    const double extra = input ? 0 : first_rounding(x, style, scale);
    for (std::size_t i = first; i < first + length; ++i) {
      const double quotient = input ? input_quotient(style.input, centre[i], scale) : centre[i] / scale;
      const double from = point ? quotient : low[i] / scale;
      const double to = point ? quotient : high[i] / scale;
      const CodeRange range = quantizing.codes(from - extra, quotient, to + extra, error, zero_point);
      codes[i] = range.centre;
      if (codes_low.empty()) {
        if (range.low == range.high) continue;
        codes_low = codes_high = codes;
      }
      codes_low[i] = range.low;
      codes_high[i] = range.high;
    }
  });
  Enclosure result = exact_enclosure(tensor(std::move(codes)));
  if (!codes_low.empty()) {
    result.low = tensor(std::move(codes_low));
    result.high = tensor(std::move(codes_high));
  }
  return result;
}

Enclosure as_if_unrounded(const Enclosure& codes, const Enclosure& value, const QuantParams& params) {
  const core::DType type = codes.centre->type();
  const Result<ChannelIndex> index = ChannelIndex::make(codes.centre->shape(), params);
  Tensor low = codes.low_or_centre();
  Tensor high = codes.high_or_centre();
  if (codes.centre->is_real()) {
    for (double& code : low.reals()) code = next_code(code, -1, type);
    for (double& code : high.reals()) code = next_code(code, 1, type);
  } else {
    constexpr double kMostCodes = 0x1p31;
    const auto lows = value.low_or_centre().reals(), highs = value.high_or_centre().reals();
    for (std::size_t i = 0; i < lows.size(); ++i) {
      const std::size_t channel = index ? index->channel(i) : 0;
      const auto code_of = [&](double real, auto towards) {
        const double steps = std::clamp(real / params.scale[channel], -kMostCodes, kMostCodes);
        return static_cast<std::int64_t>(towards(steps)) + params.zero_point[channel];
      };
      std::int64_t& from = low.integers()[i];
      std::int64_t& to = high.integers()[i];
      from = std::min(from - 1, code_of(lows[i], [](double steps) { return std::floor(steps); }));
      to = std::max(to + 1, code_of(highs[i], [](double steps) { return std::ceil(steps); }));
    }
  }
  Enclosure result = codes;
  result.low = std::make_shared<const Tensor>(std::move(low));
  result.high = std::make_shared<const Tensor>(std::move(high));
  return result;
}

Result<Enclosure> dequantize_enclosure(const Enclosure& codes, const QuantParams& params, const Style& style) {
  const Result<ChannelIndex> index = ChannelIndex::make(codes.centre->shape(), params);
  if (!index) {
    return index.error();
  }
  const auto reals = [&](const Tensor& tensor) {
    if (tensor.is_real()) return std::make_shared<const Tensor>(*dequantize_tensor(tensor, params));
    const std::span<const std::int64_t> integers = tensor.integers();
    std::vector<double> values(integers.size());
    index->for_each_run(integers.size(), [&](std::size_t first, std::size_t length, std::size_t channel) {
      reference::dequantize(integers.subspan(first, length), params.scale[channel], params.zero_point[channel],
                            std::span(values).subspan(first, length));
    });
    return std::make_shared<const Tensor>(core::DType::float32, tensor.shape(), std::move(values));
  };
  Enclosure result = exact_enclosure(reals(*codes.centre));
  if (!codes.is_point()) {
    result.low = reals(*codes.low);
    result.high = reals(*codes.high);
  }
  result.relative = style.dequantize_error;
  result.codes = std::make_shared<const QuantParams>(params);
  if (params.scale.size() == 1) {
    result.steps = params.scale;
  }
  return result;
}

}  // namespace assay::judge
