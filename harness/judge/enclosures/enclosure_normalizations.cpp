#include "harness/judge/enclosures/enclosure_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

// Normalizations of data by its own mean and variance, or by its own norm.
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

/// What float arithmetic makes of one block whose elements lie within `radius` of `x`. The variance may be the mean of
/// squares less the square of the mean, as LayerNormalization's own function body has it, and the value x·a + c with
/// a = inv and c = -mean·a. The mean moves by no more than the mean radius; the deviation is a seminorm, so that it
/// moves by no more than the root mean square of the radius.
struct Moments {
  double mean = 0, mean_error = 0;
  double mean_radius = 0;
  double inv = 0, inv_low = 0, inv_high = 0;  ///< 1 ÷ deviation, and the least and most that it may come out as

  Moments(std::span<const double> x, std::span<const double> radius, double epsilon, double unit) {
    const auto n = static_cast<double>(x.size());
    double magnitude = 0, squares = 0, variance = 0, spread = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean += x[i] / n;
      magnitude += (std::fabs(x[i]) + radius[i]) / n;
      squares += (std::fabs(x[i]) + radius[i]) * (std::fabs(x[i]) + radius[i]) / n;
      mean_radius += radius[i] / n;
      spread += radius[i] * radius[i] / n;
    }
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    const double deviation = std::sqrt(variance), moved = std::sqrt(spread);
    const double least = std::max(deviation - moved, 0.0), most = deviation + moved;
    const double rounding = gamma(n + 1, unit) * magnitude, far = std::fabs(mean) + mean_radius;
    const double variance_error = gamma(n + 3, unit) * squares + (2 * far + rounding) * rounding +
                                  gamma(3, unit) * far * far + unit * (most * most + epsilon);
    mean_error = mean_radius + rounding;
    inv = 1 / std::sqrt(variance + epsilon);
    inv_low = (1 - gamma(4, unit)) / std::sqrt(most * most + epsilon + variance_error);
    inv_high = (1 + gamma(4, unit)) / std::sqrt(least * least + epsilon - variance_error);  // NaN: nothing is left
  }
  /// How far the normalized form of an element may lie from that of `x`.
  [[nodiscard]] double radius(double x, double own, double unit) const {
    const double distance = std::fabs(x - mean);
    const double error = own + mean_error + unit * (distance + own + mean_error) +
                         gamma(3, unit) * (std::fabs(x) + own + std::fabs(mean) + mean_radius);
    const double outwards = (distance + error) * inv_high - distance * inv;
    const double nearer = distance - error;
    return std::max(outwards, distance * inv - nearer * (nearer < 0 ? inv_high : inv_low));
  }
  [[nodiscard]] double normalized(double x) const { return std::fabs(x - mean) * inv; }
};

/// An operand that each channel has a value of, or any that another shape has: its largest.
class PerChannel {
 public:
  PerChannel(const Enclosure* operand, const Blocks& blocks) : blocks_(blocks) {
    if (operand == nullptr) return;
    values_ = operand->centre->to_reals();
    radius_ = radius_of(*operand);
    largest_ = largest(values_);
    largest_radius_ = largest(radius_);
  }
  [[nodiscard]] double magnitude(std::size_t element) const {
    return values_.size() == blocks_.channels ? std::fabs(values_[channel(element)]) : largest_;
  }
  [[nodiscard]] double radius(std::size_t element) const {
    return values_.size() == blocks_.channels ? radius_[channel(element)] : largest_radius_;
  }

 private:
  [[nodiscard]] std::size_t channel(std::size_t element) const { return element / blocks_.channel % blocks_.channels; }
  Blocks blocks_;
  std::vector<double> values_, radius_;
  double largest_ = 0, largest_radius_ = 0;
};

}  // namespace

/// LayerNormalization, InstanceNormalization and GroupNormalization.
Result<Outputs> enclose_normalization(const Call& call) {
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Outputs outputs = exact_outputs(std::move(*centre));
  const double unit = call.arithmetic.float_unit;
  const std::span<const double> x = call.inputs[0]->centre->reals();
  const std::vector<double> own = radius_of(*call.inputs[0]);
  const Blocks blocks = blocks_of(call, call.inputs[0]->centre->shape());
  const PerChannel scale(call.inputs[1], blocks), bias(call.inputs.size() > 2 ? call.inputs[2] : nullptr, blocks);
  std::vector<std::vector<double>> radius(outputs.size());
  radius[0] = outputs[0].centre->to_reals();
  for (std::size_t begin = 0; begin < x.size(); begin += blocks.width) {
    const Moments moments(x.subspan(begin, blocks.width), std::span(own).subspan(begin, blocks.width),
                          call.node.float_or("epsilon", static_cast<double>(1e-5F)), unit);
    if (!std::isfinite(moments.inv_high)) {
      return no_bound(call.node, "the variance is within its own error");
    }
    for (std::size_t i = begin; i < begin + blocks.width; ++i) {
      const double normalized = moments.radius(x[i], own[i], unit);
      const double moved = (scale.magnitude(i) + scale.radius(i)) * normalized * (1 + gamma(2, unit)) +
                           scale.radius(i) * moments.normalized(x[i]) + bias.radius(i);
      radius[0][i] = moved + gamma(3, unit) * (std::fabs(radius[0][i]) + moved + bias.magnitude(i) + bias.radius(i));
    }
    if (outputs.size() > 1) {
      radius[1].push_back(moments.mean_error);
      radius[2].push_back(std::max(moments.inv_high - moments.inv, moments.inv - moments.inv_low));
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    widen(outputs[k], radius[k]);
  }
  return outputs;
}

/// LpNormalization: a norm moves by no more than the norm of what its elements move by.
Result<Outputs> enclose_norm(const Call& call) {
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Outputs outputs = exact_outputs(std::move(*centre));
  const double unit = call.arithmetic.float_unit;
  const core::Shape& shape = call.inputs[0]->centre->shape();
  const std::span<const double> x = call.inputs[0]->centre->reals();
  const std::vector<double> own = radius_of(*call.inputs[0]);
  const std::int64_t given = call.node.int_or("axis", -1);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.size()) : given);
  const auto extent = static_cast<std::size_t>(shape[axis]);
  const auto stride = static_cast<std::size_t>(extent_product(shape, axis + 1));
  const bool sums_squares = call.node.int_or("p", 2) != 1;
  const double error = gamma(static_cast<double>(extent) + 2, unit);
  std::vector<double> radius(x.size());
  for (std::size_t line = 0; line < x.size() / std::max<std::size_t>(extent, 1); ++line) {
    const std::size_t first = line / stride * stride * extent + line % stride;
    double norm = 0, moved = 0;
    for (std::size_t i = first; i < first + extent * stride; i += stride) {
      norm += sums_squares ? x[i] * x[i] : std::fabs(x[i]);
      moved += sums_squares ? own[i] * own[i] : own[i];
    }
    if (sums_squares) {
      norm = std::sqrt(norm);
      moved = std::sqrt(moved);
    }
    if (norm == 0 && moved == 0) continue;  // stays zero
    const double least = (norm - moved) * (1 - error), most = (norm + moved) * (1 + error);
    if (!(least > 0)) {
      return no_bound(call.node, "what it divides by may be zero");
    }
    for (std::size_t i = first; i < first + extent * stride; i += stride) {
      const double value = std::fabs(x[i]), nearer = value - own[i];
      const double outwards = (value + own[i]) / least;
      radius[i] =
          std::max(outwards - value / norm, value / norm - nearer / (nearer < 0 ? least : most)) + unit * outwards;
    }
  }
  widen(outputs[0], radius);
  return outputs;
}

}  // namespace assay::judge::rules
