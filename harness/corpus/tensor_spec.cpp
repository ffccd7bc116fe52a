#include "harness/corpus/tensor_spec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::corpus {
namespace {

using core::Rng;

/// Number of products that one output sums, for the default deviation of a weight: elements per index of axis 0.
double fan_in(const core::Shape& shape) {
  if (shape.size() < 2 || shape[0] <= 0) return 4;
  return std::max(1.0, static_cast<double>(core::element_count(shape)) / static_cast<double>(shape[0]));
}

void fill_normal(const TensorSpec& spec, Rng& rng, std::vector<double>& out) {
  double mean = spec.mean.value_or(0);
  double std_dev = spec.std_dev.value_or(1 / std::sqrt(fan_in(spec.shape)));
  if (spec.low && spec.high) {
    mean = spec.mean.value_or((*spec.low + *spec.high) / 2);
    std_dev = spec.std_dev.value_or((*spec.high - *spec.low) / 6);
  }
  for (double& x : out) {
    x = mean + std_dev * rng.normal();
    if (spec.low && spec.high) x = std::clamp(x, *spec.low, *spec.high);
  }
}

void fill_uniform(const TensorSpec& spec, Rng& rng, std::vector<double>& out) {
  const double low = spec.low.value_or(-1);
  const double high = spec.high.value_or(1);
  const bool integer = core::is_integer(spec.type);
  for (double& x : out) {
    x = integer ? static_cast<double>(rng.integer(std::llround(low), std::llround(high))) : rng.uniform(low, high);
  }
}

/// A weight [out, in, k…] (or matrix) that hands input channel o % in on to output channel o: the middle tap is one.
void fill_identity(const TensorSpec& spec, std::vector<double>& out) {
  if (spec.shape.size() < 2) {
    if (!out.empty()) out.front() = spec.value == 0 ? 1 : spec.value;
    return;
  }
  std::int64_t taps = 1, middle = 0;
  for (std::size_t d = 2; d < spec.shape.size(); ++d) {
    taps *= spec.shape[d];
    middle = middle * spec.shape[d] + spec.shape[d] / 2;
  }
  const std::int64_t inputs = std::max<std::int64_t>(1, spec.shape[1]);
  for (std::int64_t o = 0; o < spec.shape[0]; ++o) {
    const std::int64_t at = (o * inputs + o % inputs) * taps + middle;
    if (at < static_cast<std::int64_t>(out.size()))
      out[static_cast<std::size_t>(at)] = spec.value == 0 ? 1 : spec.value;
  }
}

void fill(const TensorSpec& spec, Rng& rng, std::vector<double>& out) {
  if (spec.kind == "normal") return fill_normal(spec, rng, out);
  if (spec.kind == "uniform") return fill_uniform(spec, rng, out);
  if (spec.kind == "one_hot_identity") return fill_identity(spec, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (spec.kind == "constant") out[i] = spec.value;
    if (spec.kind == "arange") out[i] = spec.start + spec.step * static_cast<double>(i);
    if (spec.kind == "alternating") out[i] = (i % 2 == 0 ? 1 : -1) * (spec.value == 0 ? 1 : spec.value);
    if (spec.kind == "values") out[i] = i < spec.values.size() ? spec.values[i] : 0;
  }
}

void shape_channels(const TensorSpec& spec, Rng& rng, std::vector<double>& out) {
  if (spec.shape.empty() || spec.axis < 0 || spec.axis >= static_cast<std::int64_t>(spec.shape.size())) return;
  std::vector<double> factors(static_cast<std::size_t>(spec.shape[static_cast<std::size_t>(spec.axis)]), 1.0);
  if (spec.ratio) factors = channel_factors(static_cast<std::int64_t>(factors.size()), *spec.ratio, rng);
  for (const std::int64_t channel : spec.zero_channels) {
    if (channel >= 0 && channel < static_cast<std::int64_t>(factors.size()))
      factors[static_cast<std::size_t>(channel)] = 0;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] *= factors[static_cast<std::size_t>(index_along(spec.shape, spec.axis, static_cast<std::int64_t>(i)))];
  }
}

void place_outlier(const TensorSpec& spec, std::vector<double>& out) {
  if (!spec.outlier || out.empty()) return;
  std::int64_t at = 0;
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    at = at * spec.shape[d] + (d < spec.outlier_at.size() ? spec.outlier_at[d] : 0);
  }
  if (at >= 0 && at < static_cast<std::int64_t>(out.size())) out[static_cast<std::size_t>(at)] = *spec.outlier;
}

}  // namespace

const std::vector<std::string>& tensor_kinds() {
  static const std::vector<std::string> kinds{"normal", "uniform", "constant",    "zeros",
                                              "values", "arange",  "alternating", "one_hot_identity"};
  return kinds;
}

std::vector<double> channel_factors(std::int64_t count, double ratio, Rng& rng) {
  std::vector<double> factors;
  for (std::int64_t i = 0; i < count; ++i) {
    const double position = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0;
    factors.push_back(std::pow(ratio, -position));
  }
  for (std::size_t i = factors.size(); i > 1; --i) {
    std::swap(factors[i - 1], factors[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return factors;
}

std::int64_t index_along(const core::Shape& shape, std::int64_t axis, std::int64_t index) {
  for (std::size_t d = shape.size(); d-- > static_cast<std::size_t>(axis) + 1;) index /= shape[d];
  return index % shape[static_cast<std::size_t>(axis)];
}

double as_element(double value, core::DType type) {
  const bool half = type == core::DType::float16 || type == core::DType::bfloat16;
  if (!core::is_integer(type)) return core::round_to_type(value, half ? type : core::DType::float32);
  const core::IntegerLimits limits = core::integer_limits(type);
  return std::clamp(std::nearbyint(value), static_cast<double>(limits.low), static_cast<double>(limits.high));
}

core::Tensor make_tensor(core::DType type, core::Shape shape, std::vector<double> values) {
  if (!core::is_integer(type)) return core::Tensor(type, std::move(shape), std::move(values));
  std::vector<std::int64_t> integers;
  integers.reserve(values.size());
  constexpr double kBeyondInt64 = 9223372036854775808.0;  // int64's largest is no double: it arrives as its neighbour
  for (const double value : values) {
    integers.push_back(value >= kBeyondInt64 ? std::numeric_limits<std::int64_t>::max()
                                             : static_cast<std::int64_t>(value));
  }
  return core::Tensor(type, std::move(shape), std::move(integers));
}

core::Tensor generate(const TensorSpec& spec, std::uint64_t seed, std::string_view name) {
  Rng rng(spec.seed.value_or(seed), name);
  std::vector<double> out(static_cast<std::size_t>(core::element_count(spec.shape)), 0.0);
  fill(spec, rng, out);
  if (spec.ratio || !spec.zero_channels.empty()) shape_channels(spec, rng, out);
  place_outlier(spec, out);
  for (double& x : out) x = as_element(x, spec.type);
  return make_tensor(spec.type, spec.shape, std::move(out));
}

}  // namespace assay::corpus
