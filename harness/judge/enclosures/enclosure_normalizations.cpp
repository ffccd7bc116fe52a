#include "harness/judge/enclosures/enclosure_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

// Normalizations of exact data by its own mean and variance.
namespace assay::judge::rules {

namespace {

/// How many elements in a row share a mean and variance; the elements of a channel likewise.
struct Blocks {
  std::size_t width = 1;
  std::size_t channel = 1;
  std::size_t channels = 1;
};

Blocks blocks_of(const Call& call, const core::Shape& shape) {
  if (call.node.op_type == "LayerNormalization") {
    const std::int64_t axis = call.node.int_or("axis", -1);
    const auto from = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
    const auto width = static_cast<std::size_t>(extent_product(shape, from));
    return {width, 1, width};
  }
  const auto spatial = static_cast<std::size_t>(extent_product(shape, 2));
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto groups = static_cast<std::size_t>(call.node.int_or("num_groups", shape[1]));
  return {spatial * channels / groups, spatial, channels};
}

double largest(std::span<const double> values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::fabs(value));
  return result;
}

/// What float arithmetic makes of one block. The variance may be the mean of squares less the square of the mean, as
/// LayerNormalization's own function body has it, and the value x·a + c with a = inv and c = -mean·a.
struct Moments {
  double mean = 0, mean_error = 0;
  double inv = 0, inv_high = 0;  ///< 1 ÷ deviation, and the most that it may come out as

  Moments(std::span<const double> x, double epsilon, double unit) {
    const auto n = static_cast<double>(x.size());
    double magnitude = 0, squares = 0, variance = 0;
    for (const double value : x) {
      mean += value / n;
      magnitude += std::fabs(value) / n;
      squares += value * value / n;
    }
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    mean_error = gamma(n + 1, unit) * magnitude;
    const double variance_error = gamma(n + 3, unit) * squares + (2 * std::fabs(mean) + mean_error) * mean_error +
                                  gamma(3, unit) * mean * mean + unit * (variance + epsilon);
    inv = 1 / std::sqrt(variance + epsilon);
    inv_high = (1 + gamma(4, unit)) / std::sqrt(variance + epsilon - variance_error);  // NaN where nothing is left
  }
  [[nodiscard]] double radius(double x, double unit) const {
    const double distance = std::fabs(x - mean);
    const double error =
        mean_error + unit * (distance + mean_error) + gamma(3, unit) * (std::fabs(x) + std::fabs(mean));
    return (distance + error) * inv_high - distance * inv;
  }
};

}  // namespace

/// LayerNormalization, InstanceNormalization and GroupNormalization of exact data.
Result<Outputs> enclose_normalization(const Call& call) {
  if (!all_exact(call)) {
    return no_bound(call.node, "its inputs are uncertain");
  }
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Outputs outputs = exact_outputs(std::move(*centre));
  const double unit = call.arithmetic.float_unit;
  const std::span<const double> x = call.inputs[0]->centre->reals();
  const std::span<const double> scale = call.inputs[1]->centre->reals();
  const bool has_bias = call.inputs.size() > 2 && call.inputs[2] != nullptr;
  const double bias = has_bias ? largest(call.inputs[2]->centre->reals()) : 0;
  const double largest_scale = largest(scale);
  const Blocks blocks = blocks_of(call, call.inputs[0]->centre->shape());
  std::vector<std::vector<double>> radius(outputs.size());
  radius[0] = outputs[0].centre->to_reals();
  for (std::size_t begin = 0; begin < x.size(); begin += blocks.width) {
    const Moments own(x.subspan(begin, blocks.width), call.node.float_or("epsilon", 1e-5F), unit);
    if (!std::isfinite(own.inv_high)) {
      return no_bound(call.node, "the variance is within its own error");
    }
    for (std::size_t i = begin; i < begin + blocks.width; ++i) {
      const double factor =
          scale.size() == blocks.channels ? std::fabs(scale[i / blocks.channel % blocks.channels]) : largest_scale;
      radius[0][i] =
          factor * own.radius(x[i], unit) * (1 + gamma(2, unit)) + gamma(3, unit) * (std::fabs(radius[0][i]) + bias);
    }
    if (outputs.size() > 1) {
      radius[1].push_back(own.mean_error);
      radius[2].push_back(own.inv_high - own.inv);
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    widen(outputs[k], radius[k]);
  }
  return outputs;
}

}  // namespace assay::judge::rules
