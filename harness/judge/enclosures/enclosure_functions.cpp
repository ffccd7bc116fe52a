#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/evidence/operators.hpp"

#include <algorithm>
#include <cmath>

// What is computed element by element, and normalizations.
namespace assay::judge::rules {

namespace {

/// Functions of one real that grow, rounded by somebody's library: `units` roundings of max(|f|, floor).
Result<Outputs> enclose_function(const Call& call, double units, double floor) {
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  Result<Outputs> outputs = at_ends({call.node, call.opset, inputs, call.arithmetic});
  if (!outputs || call.arithmetic.float_unit == 0 || units == 0) {
    return outputs;  // a Cast's may be integers
  }
  Enclosure& output = (*outputs)[0];
  std::vector<double> radius = magnitude_of(output)->to_reals();
  for (double& r : radius) {
    r = call.arithmetic.float_unit * units * std::max(r, floor);
  }
  widen(output, radius);
  return outputs;
}

}  // namespace

Result<Outputs> enclose_bounded_function(const Call& call) { return enclose_function(call, kFunctionUnits, 1.0); }
/// Elu and Celu: alpha·(e^z − 1) below zero, computed on values up to alpha.
Result<Outputs> enclose_exponential_unit(const Call& call) {
  const double alpha = call.node.float_or("alpha", 1.0);
  return alpha < 0 ? no_bound(call.node, "it falls below zero")
                   : enclose_function(call, kFunctionUnits, std::max(1.0, alpha));
}
/// ThresholdedRelu jumps from 0 to alpha, but grows unless alpha is negative.
Result<Outputs> enclose_threshold(const Call& call) {
  return call.node.float_or("alpha", 1.0) < 0 ? no_bound(call.node, "it falls below zero")
                                              : enclose_function(call, 0.0, 0.0);
}
Result<Outputs> enclose_unbounded_function(const Call& call) { return enclose_function(call, kFunctionUnits, 0.0); }
Result<Outputs> enclose_log(const Call& call) { return enclose_function(call, kFunctionUnits, 1.0); }
Result<Outputs> enclose_root(const Call& call) { return enclose_function(call, 1.0, 0.0); }
Result<Outputs> enclose_step(const Call& call) { return enclose_function(call, 0.0, 0.0); }
Result<Outputs> enclose_hard_sigmoid(const Call& call) {
  return enclose_function(call, 3.0, std::fabs(call.node.float_or("beta", 0.5)) + 1.0);
}

namespace {

/// Functions that turn, with a bound on their slope: f moves by at most `slope` times what x moves.
Result<Outputs> enclose_turning(const Call& call, double slope, double units) {
  const Enclosure& x = *call.inputs[0];
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Enclosure output = exact_outputs(std::move(*centre)).front();
  if (x.is_exact() && call.arithmetic.float_unit == 0) {
    return Outputs{output};
  }
  std::vector<double> radius = radius_of(x);
  const std::vector<double> magnitude = magnitude_of(x)->to_reals();
  for (std::size_t i = 0; i < radius.size(); ++i) {
    // The steps of every such f are computed on values up to |x| + 1.
    radius[i] = slope * radius[i] + units * call.arithmetic.float_unit * (magnitude[i] + 1);
  }
  widen(output, radius);
  return Outputs{output};
}

}  // namespace

Result<Outputs> enclose_absolute(const Call& call) { return enclose_turning(call, 1.0, 0.0); }
Result<Outputs> enclose_hard_swish(const Call& call) { return enclose_turning(call, 1.5, 8.0); }
Result<Outputs> enclose_soft_turning(const Call& call) {
  const double slope = slope_limit(call.node);
  return slope == 0 ? no_bound(call.node, "its slope is not stated") : enclose_turning(call, slope, kFunctionUnits);
}

namespace {

/// Operators that are monotone in each input alone: the extremes lie at corners of the box.
Result<Outputs> at_corners(const Call& call) {
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Outputs outputs = exact_outputs(std::move(*centre));
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] != nullptr && !call.inputs[i]->is_point()) {
      open.push_back(i);
    }
  }
  if (open.empty()) {
    return outputs;
  }
  Tensor low = *outputs[0].centre;
  Tensor high = low;
  for (std::size_t corner = 0; corner < (std::size_t{1} << open.size()); ++corner) {
    std::vector<TensorPtr> inputs = pick_each(call, centre_of);
    for (std::size_t bit = 0; bit < open.size(); ++bit) {
      const Enclosure& input = *call.inputs[open[bit]];
      inputs[open[bit]] = ((corner >> bit) & 1U) != 0 ? input.high : input.low;
    }
    Result<std::vector<Tensor>> value = run(call, inputs);
    if (!value) {
      return value.error();
    }
    const std::span<const double> values = (*value)[0].reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) {
        return no_bound(call.node, "a corner is not a number");
      }
      low.reals()[i] = std::min(low.reals()[i], values[i]);
      high.reals()[i] = std::max(high.reals()[i], values[i]);
    }
  }
  outputs[0].low = std::make_shared<const Tensor>(std::move(low));
  outputs[0].high = std::make_shared<const Tensor>(std::move(high));
  return outputs;
}

}  // namespace

namespace {

/// PRelu whose slope lies within an interval: linear in x on either side of 0 and in the slope, so that its extremes
/// lie at corners, and at 0 where x may be 0.
Result<Outputs> enclose_uncertain_slope(const Call& call) {
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  Result<Outputs> outputs = at_corners({call.node, call.opset, inputs, call.arithmetic});
  if (!outputs) {
    return outputs;
  }
  Enclosure& output = (*outputs)[0];
  Tensor low = output.low_or_centre(), high = output.high_or_centre();
  const std::span<const double> least = inputs[0]->low_or_centre().reals(), most = inputs[0]->high_or_centre().reals();
  for (std::size_t i = 0; i < least.size(); ++i) {
    if (least[i] < 0 && most[i] > 0) {
      low.reals()[i] = std::min(low.reals()[i], 0.0);
      high.reals()[i] = std::max(high.reals()[i], 0.0);
    }
  }
  output.low = std::make_shared<const Tensor>(std::move(low));
  output.high = std::make_shared<const Tensor>(std::move(high));
  output.relative = call.arithmetic.float_unit;
  return outputs;
}

}  // namespace

/// One rounding (or none) of a function that is positively homogeneous and grows: LeakyRelu, PRelu.
Result<Outputs> enclose_piecewise_linear(const Call& call) {
  const bool leaky = call.node.op_type == "LeakyRelu";
  double steepest = leaky ? call.node.float_or("alpha", 0.01) : 0;
  double lowest = leaky ? steepest : 0;
  if (!leaky) {
    if (!call.inputs[1]->is_point()) {
      return enclose_uncertain_slope(call);
    }
    for (const double slope : call.inputs[1]->centre->to_reals()) {
      steepest = std::max(steepest, std::fabs(slope));
      lowest = std::min(lowest, slope);
    }
  }
  if (lowest < 0) {  // falls and grows: |f(a) − f(b)| <= max(1, |slope|)·|a − b|
    Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
    if (!centre) {
      return centre.error();
    }
    Enclosure output = exact_outputs(std::move(*centre)).front();
    std::vector<double> radius = radius_of(*call.inputs[0]);
    for (double& r : radius) {
      r *= std::max(1.0, std::fabs(leaky ? lowest : steepest));
    }
    widen(output, radius);
    output.relative = call.arithmetic.float_unit + (leaky ? 0 : call.inputs[1]->relative);
    return Outputs{output};
  }
  Result<Outputs> outputs = at_ends(call);
  if (!outputs) {
    return outputs;
  }
  for (Enclosure& output : *outputs) {
    output.relative = gamma(2, call.arithmetic.float_unit) + largest_relative(call) * 2;
  }
  return outputs;
}

Result<Outputs> enclose_product(const Call& call) {
  Result<Outputs> outputs = at_corners(call);
  if (outputs) {
    double relative = call.arithmetic.float_unit;
    for (const Enclosure* input : call.inputs) {
      relative += input == nullptr ? 0 : input->relative;
    }
    (*outputs)[0].relative = relative * (1 + relative);
    if (call.node.op_type == "Mul") {
      for (const double a : call.inputs[0]->steps) {
        for (const double b : call.inputs[1]->steps) {
          (*outputs)[0].steps.push_back(a * b);
        }
      }
    }
  }
  return outputs;
}

namespace {

bool keeps_its_sign(const Enclosure& e) {
  const std::span<const double> low = e.low_or_centre().reals();
  const std::span<const double> high = e.high_or_centre().reals();
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (!(low[i] > 0 || high[i] < 0)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Outputs> enclose_quotient(const Call& call) {
  if (!(*call.inputs[0]).centre->is_real()) {
    return no_bound(call.node, "integer division jumps");
  }
  const Enclosure& divisor = *call.inputs.back();
  if (!divisor.is_point() && !keeps_its_sign(divisor)) {
    return no_bound(call.node, "the divisor may be zero");
  }
  return enclose_product(call);
}

Result<Outputs> enclose_difference(const Call& call) {
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  Result<Outputs> outputs = at_corners({call.node, call.opset, inputs, call.arithmetic});
  if (outputs) {
    (*outputs)[0].relative = call.arithmetic.float_unit;
  }
  return outputs;
}

Result<Outputs> enclose_negation(const Call& call) {
  Result<Outputs> outputs = at_corners(call);
  if (outputs) {
    (*outputs)[0].relative = largest_relative(call);
  }
  return outputs;
}

Result<Outputs> enclose_power(const Call& call) {
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  const Call plain{call.node, call.opset, inputs, call.arithmetic};
  const Enclosure& base = *inputs[0];
  const Enclosure& exponent = *inputs[1];
  const std::vector<double> exponents = exponent.centre->to_reals();
  const bool square =
      exponent.is_point() && std::all_of(exponents.begin(), exponents.end(), [](double value) { return value == 2.0; });
  const std::vector<double> lowest = base.low_or_centre().to_reals();
  const bool positive = std::all_of(lowest.begin(), lowest.end(), [](double value) { return value > 0; });
  if (!square && !positive && !base.is_point()) {
    return no_bound(call.node, "the base may be negative");
  }
  Result<Outputs> outputs = at_corners(plain);
  if (!outputs) {
    return outputs;
  }
  Enclosure& output = (*outputs)[0];
  if (square && !output.is_point()) {  // the parabola turns at zero
    Tensor low = *output.low;
    const std::span<const double> from = base.low->reals();
    const std::span<const double> to = base.high->reals();
    for (std::size_t i = 0; i < from.size() && from.size() == low.reals().size(); ++i) {
      if (from[i] <= 0 && to[i] >= 0) {
        low.reals()[i] = 0;
      }
    }
    output.low = std::make_shared<const Tensor>(std::move(low));
  }
  output.relative = kFunctionUnits * call.arithmetic.float_unit;
  return outputs;
}

/// Softmax moves by a factor within e^(±2r) when its logits move by at most r: numerator and denominator by e^(±r)
/// each.
Result<Outputs> enclose_softmax(const Call& call) {
  const Enclosure& x = *call.inputs[0];
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Enclosure output = exact_outputs(std::move(*centre)).front();
  if (x.is_exact() && call.arithmetic.float_unit == 0) {
    return Outputs{output};
  }
  double largest_radius = 0;
  for (const double r : radius_of(x)) {
    largest_radius = std::max(largest_radius, r);
  }
  double largest = 0;
  for (const double value : magnitude_of(x)->to_reals()) {
    largest = std::max(largest, std::fabs(value));
  }
  const auto summands = static_cast<double>(x.centre->size());
  const double unit = call.arithmetic.float_unit;
  // Subtracting the maximum rounds a value up to 2·|x|, an absolute error of the exponent.
  const double moved = 2 * (largest_radius + 2 * largest * unit);
  const double rounded = gamma(summands + 2 * kFunctionUnits, unit);
  const bool logarithm = call.node.op_type == "LogSoftmax";
  std::vector<double> radius = output.centre->to_reals();
  for (double& r : radius) {
    r = logarithm ? moved + rounded + unit * kFunctionUnits * std::fabs(r)
                  : std::min(1.0, std::expm1(moved + rounded) * r + kFunctionUnits * unit * 0x1p-10);
  }
  widen(output, radius);
  return Outputs{output};
}

/// BatchNormalization: linear in its input, scale, mean and bias and monotone in the variance, computed in up to 6
/// roundings.
Result<Outputs> enclose_batch_normalization(const Call& call) {
  if (call.node.int_or("training_mode", 0) != 0) {
    return no_bound(call.node, "it takes the moments of its input");
  }
  if (std::ranges::any_of(call.inputs, [](const Enclosure* input) { return input == nullptr; })) {
    return no_bound(call.node, "a parameter is missing");
  }
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  constexpr std::size_t kMean = 3, kVariance = 4;
  Result<Outputs> outputs = at_corners({call.node, call.opset, inputs, call.arithmetic});
  if (!outputs || call.arithmetic.float_unit == 0) {
    return outputs;
  }
  std::vector<TensorPtr> magnitudes = pick_each({call.node, call.opset, inputs, call.arithmetic}, magnitude_of);
  Tensor mean = *magnitudes[kMean];
  for (double& value : mean.reals()) {
    value = -value;
  }
  magnitudes[kMean] = std::make_shared<const Tensor>(std::move(mean));
  magnitudes[kVariance] = inputs[kVariance]->is_point() ? inputs[kVariance]->centre : inputs[kVariance]->low;
  const Result<std::vector<Tensor>> magnitude = run(call, magnitudes);
  if (!magnitude) {
    return magnitude.error();
  }
  std::vector<double> radius = (*magnitude)[0].to_reals();
  for (double& r : radius) {
    r *= gamma(8, call.arithmetic.float_unit);
  }
  widen((*outputs)[0], radius);
  return outputs;
}

}  // namespace assay::judge::rules
