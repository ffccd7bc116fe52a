#include "harness/judge/enclosure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;
using Outputs = std::vector<Enclosure>;

struct Call {
  const Node& node;
  std::int64_t opset;
  std::span<const Enclosure* const> inputs;
  const Arithmetic& arithmetic;
};

core::Error no_bound(const Node& node, std::string_view why) {
  return {.kind = core::ErrorKind::unsupported,
          .message = fmt::format("no sound bound is known for {}: {}", node.op_type, why),
          .node = node.name,
          .op = node.op_type,
          .tensor = {}};
}

Result<std::vector<Tensor>> run(const Call& call, std::span<const TensorPtr> inputs) {
  std::vector<const Tensor*> raw;
  raw.reserve(inputs.size());
  for (const TensorPtr& input : inputs) {
    raw.push_back(input.get());
  }
  return reference::execute_node(call.node, call.opset, raw);
}

/// The inputs with `pick` applied to those that are there.
template <typename Pick>
std::vector<TensorPtr> pick_each(const Call& call, Pick pick) {
  std::vector<TensorPtr> picked;
  picked.reserve(call.inputs.size());
  for (const Enclosure* input : call.inputs) {
    picked.push_back(input == nullptr ? nullptr : pick(*input));
  }
  return picked;
}

TensorPtr centre_of(const Enclosure& e) { return e.centre; }
TensorPtr low_of(const Enclosure& e) { return e.is_point() ? e.centre : e.low; }
TensorPtr high_of(const Enclosure& e) { return e.is_point() ? e.centre : e.high; }

/// Largest magnitude that the enclosed values reach, `relative` left out.
TensorPtr magnitude_of(const Enclosure& e) {
  if (!e.centre->is_real()) {
    return e.centre;
  }
  Tensor magnitude = e.low_or_centre();
  const std::span<double> values = magnitude.reals();
  const std::span<const double> high = e.high_or_centre().reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::max(std::fabs(values[i]), std::fabs(high[i]));
  }
  return std::make_shared<const Tensor>(std::move(magnitude));
}

bool all_points(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const Enclosure* e) { return e == nullptr || e->is_point(); });
}
bool all_exact(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const Enclosure* e) { return e == nullptr || e->is_exact(); });
}
std::vector<double> all_steps(const Call& call) {
  std::vector<double> steps;
  for (const Enclosure* input : call.inputs) {
    if (input != nullptr) {
      steps.insert(steps.end(), input->steps.begin(), input->steps.end());
    }
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}
double largest_relative(const Call& call) {
  double largest = 0;
  for (const Enclosure* input : call.inputs) {
    largest = std::max(largest, input == nullptr ? 0.0 : input->relative);
  }
  return largest;
}

Outputs exact_outputs(std::vector<Tensor> values) {
  Outputs outputs;
  for (Tensor& value : values) {
    outputs.push_back(exact_enclosure(std::make_shared<const Tensor>(std::move(value))));
  }
  return outputs;
}

/// Moves the ends of `output` outwards by `radius`.
void widen(Enclosure& output, std::span<const double> radius) {
  Tensor low = output.low_or_centre();
  Tensor high = output.high_or_centre();
  for (std::size_t i = 0; i < radius.size(); ++i) {
    low.reals()[i] -= radius[i];
    high.reals()[i] += radius[i];
  }
  output.low = std::make_shared<const Tensor>(std::move(low));
  output.high = std::make_shared<const Tensor>(std::move(high));
}

/// The call with every input's `relative` moved into its ends; `storage` keeps them alive.
std::vector<const Enclosure*> explicit_inputs(const Call& call, std::vector<Enclosure>& storage) {
  storage.reserve(call.inputs.size());
  std::vector<const Enclosure*> inputs;
  for (const Enclosure* input : call.inputs) {
    if (input != nullptr && input->relative > 0) {
      storage.push_back(with_explicit_ends(*input));
      inputs.push_back(&storage.back());
    } else {
      inputs.push_back(input);
    }
  }
  return inputs;
}

/// Outputs at the centre, the lows and the highs of the inputs, for operators that grow with every input.
Result<Outputs> at_ends(const Call& call) {
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Outputs outputs = exact_outputs(std::move(*centre));
  if (all_points(call)) {
    return outputs;
  }
  Result<std::vector<Tensor>> low = run(call, pick_each(call, low_of));
  Result<std::vector<Tensor>> high = run(call, pick_each(call, high_of));
  if (!low || !high) {
    return low ? high.error() : low.error();
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].low = std::make_shared<const Tensor>(std::move((*low)[i]));
    outputs[i].high = std::make_shared<const Tensor>(std::move((*high)[i]));
  }
  return outputs;
}

/// Operators that only move or select values: f((1+ε)x) = (1+ε)f(x), growing, no rounding.
Result<Outputs> enclose_selection(const Call& call) {
  Result<Outputs> outputs = at_ends(call);
  if (!outputs) {
    return outputs;
  }
  std::shared_ptr<const core::QuantParams> codes;
  std::size_t real_inputs = 0;
  bool accumulator = false;
  for (const Enclosure* input : call.inputs) {
    if (input != nullptr && input->centre->is_real()) {
      ++real_inputs;
      codes = input->codes;
      accumulator = input->accumulator;
    }
  }
  for (Enclosure& output : *outputs) {
    output.relative = largest_relative(call);
    output.steps = all_steps(call);
    if (real_inputs == 1 && codes != nullptr && !codes->axis) {
      output.codes = codes;
    }
    output.accumulator = real_inputs == 1 && accumulator;
  }
  return outputs;
}

/// MaxPool's second output is an index: not continuous.
Result<Outputs> enclose_max_pool(const Call& call) {
  if (call.node.outputs.size() > 1 && !all_exact(call)) {
    return no_bound(call.node, "its indices jump");
  }
  return enclose_selection(call);
}

/// Where: a selection if the condition is certain.
Result<Outputs> enclose_where(const Call& call) {
  if (!call.inputs.empty() && call.inputs[0] != nullptr && !call.inputs[0]->is_exact()) {
    return no_bound(call.node, "its condition is uncertain");
  }
  return enclose_selection(call);
}

/// One rounding (or none) of a function that is positively homogeneous and grows: LeakyRelu, PRelu.
Result<Outputs> enclose_piecewise_linear(const Call& call) {
  const bool leaky = call.node.op_type == "LeakyRelu";
  double steepest = leaky ? call.node.float_or("alpha", 0.01) : 0;
  double lowest = leaky ? steepest : 0;
  if (!leaky) {
    if (call.inputs.size() < 2 || call.inputs[1] == nullptr || !call.inputs[1]->is_point()) {
      return no_bound(call.node, "its slope is uncertain");
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

bool none_negative(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [](const Enclosure* e) {
    if (e == nullptr || !e->centre->is_real()) {
      return true;
    }
    const std::span<const double> low = e->low_or_centre().reals();
    return std::all_of(low.begin(), low.end(), [](double value) { return value >= 0; });
  });
}

/// A sum of what is not negative is not negative in any arithmetic: a variance keeps its square root.
void raise_to_zero(Enclosure& e) {
  Tensor low = e.low_or_centre();
  for (double& value : low.reals()) {
    value = std::max(value, 0.0);
  }
  e.low = std::make_shared<const Tensor>(std::move(low));
}

/// Sums with weights >= 0: Add, means, sums, pools. n additions and divisions of positive parts: γ_n·Σ|x|.
Result<Outputs> enclose_sum(const Call& call, double roundings) {
  Result<Outputs> outputs = at_ends(call);
  if (!outputs || !(*outputs)[0].centre->is_real()) {
    return outputs;
  }
  const double error = gamma(roundings, call.arithmetic.float_unit) + 2 * largest_relative(call);
  if (error > 0) {
    Result<std::vector<Tensor>> magnitude = run(call, pick_each(call, magnitude_of));
    if (!magnitude) {
      return magnitude.error();
    }
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      std::vector<double> radius = (*magnitude)[i].to_reals();
      for (double& r : radius) {
        r *= error;
      }
      widen((*outputs)[i], radius);
      if (none_negative(call)) {
        raise_to_zero((*outputs)[i]);
      }
    }
  }
  return outputs;
}

Result<Outputs> enclose_addition(const Call& call) {
  return enclose_sum(call, static_cast<double>(call.inputs.size()));
}

double extent_product(std::span<const std::int64_t> extents, std::size_t from = 0) {
  double product = 1;
  for (std::size_t i = from; i < extents.size(); ++i) {
    product *= static_cast<double>(extents[i]);
  }
  return product;
}

Result<Outputs> enclose_average_pool(const Call& call) {
  const bool global = call.node.op_type == "GlobalAveragePool";
  const double count =
      global ? extent_product(call.inputs[0]->centre->shape(), 2) : extent_product(call.node.ints_or("kernel_shape"));
  Result<Outputs> outputs = enclose_sum(call, count + 1);
  if (outputs) {
    // A mean is a sum of codes with a step that much smaller; at the edges fewer count.
    constexpr double kMostCounts = 64;
    for (const double step : all_steps(call)) {
      for (double part = count; part >= std::max(1.0, count - kMostCounts); --part) {
        (*outputs)[0].steps.push_back(step / part);
      }
    }
  }
  return outputs;
}

/// Reductions and cumulative sums: no more summands than the input has elements.
Result<Outputs> enclose_reduction(const Call& call) {
  Result<Outputs> outputs = enclose_sum(call, static_cast<double>(call.inputs[0]->centre->size()) + 1);
  if (outputs && call.node.op_type == "ReduceMean") {
    const double count = static_cast<double>(call.inputs[0]->centre->size()) /
                         static_cast<double>(std::max<std::int64_t>((*outputs)[0].centre->size(), 1));
    for (const double step : call.inputs[0]->steps) {
      (*outputs)[0].steps.push_back(step / count);
    }
  }
  return outputs;
}

/// Resize: nearest selects; linear has weights >= 0 whose float32 coordinates are off by a few units of the extent.
Result<Outputs> enclose_resize(const Call& call) {
  const std::string mode = call.node.string_or("mode", "nearest");
  if (mode == "nearest") {
    return enclose_selection(call);
  }
  if (mode == "cubic" && !all_exact(call)) {
    return no_bound(call.node, "cubic weights are signed");
  }
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  const Call plain{call.node, call.opset, inputs, call.arithmetic};
  Result<Outputs> outputs = at_ends(plain);
  if (!outputs || call.arithmetic.float_unit == 0) {
    return outputs;
  }
  double largest = 0;
  for (const double value : magnitude_of(*inputs[0])->to_reals()) {
    largest = std::max(largest, std::fabs(value));
  }
  double extent = 1;
  for (const std::int64_t e : (*outputs)[0].centre->shape()) {
    extent = std::max(extent, static_cast<double>(e));
  }
  // Per dimension: the coordinate takes up to 4 roundings of values up to the extent, each weight moves by as much
  // and is applied to two neighbours; then 3 roundings of the blend.
  const double dimensions = static_cast<double>((*outputs)[0].centre->rank());
  const double error = call.arithmetic.float_unit * dimensions * (8 * extent + 3);
  widen((*outputs)[0], std::vector<double>(static_cast<std::size_t>((*outputs)[0].centre->size()), error * largest));
  return outputs;
}

/// Functions of one real that grow, rounded by somebody's library: `units` roundings of max(|f|, floor).
Result<Outputs> enclose_function(const Call& call, double units, double floor) {
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  Result<Outputs> outputs = at_ends({call.node, call.opset, inputs, call.arithmetic});
  if (!outputs || call.arithmetic.float_unit == 0) {
    return outputs;
  }
  Enclosure& output = (*outputs)[0];
  std::vector<double> radius = magnitude_of(output)->to_reals();
  for (double& r : radius) {
    r = call.arithmetic.float_unit * units * std::max(r, floor);
  }
  widen(output, radius);
  return outputs;
}

// IEEE 754 demands nothing of these functions. C libraries document errors up to 4 units, and the rational
// approximations in inference engines are made for a few units of the function's largest value, not of each value.
constexpr double kFunctionUnits = 16;

Result<Outputs> enclose_bounded_function(const Call& call) { return enclose_function(call, kFunctionUnits, 1.0); }
Result<Outputs> enclose_unbounded_function(const Call& call) { return enclose_function(call, kFunctionUnits, 0.0); }
Result<Outputs> enclose_log(const Call& call) { return enclose_function(call, kFunctionUnits, 1.0); }
Result<Outputs> enclose_root(const Call& call) { return enclose_function(call, 1.0, 0.0); }
Result<Outputs> enclose_step(const Call& call) { return enclose_function(call, 0.0, 0.0); }
Result<Outputs> enclose_hard_sigmoid(const Call& call) {
  return enclose_function(call, 3.0, std::fabs(call.node.float_or("beta", 0.5)) + 1.0);
}

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
    // Every such f is within 1 of 0, of x or of |x|, and its steps are computed on values up to |x| + 1.
    radius[i] = slope * radius[i] + units * call.arithmetic.float_unit * (magnitude[i] + 1);
  }
  widen(output, radius);
  return Outputs{output};
}

Result<Outputs> enclose_absolute(const Call& call) { return enclose_turning(call, 1.0, 0.0); }
Result<Outputs> enclose_hard_swish(const Call& call) { return enclose_turning(call, 1.5, 8.0); }
Result<Outputs> enclose_soft_turning(const Call& call) { return enclose_turning(call, 1.15, kFunctionUnits); }

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
  const double summands = static_cast<double>(x.centre->size());
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

/// BatchNormalization with exact parameters: an affine function per channel, computed in up to 6 roundings.
Result<Outputs> enclose_batch_normalization(const Call& call) {
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == nullptr || !call.inputs[i]->is_point()) {
      return no_bound(call.node, "its parameters are uncertain");
    }
  }
  std::vector<Enclosure> storage;
  const std::vector<const Enclosure*> inputs = explicit_inputs(call, storage);
  std::vector<const Enclosure*> points(inputs);
  for (std::size_t i = 1; i < points.size(); ++i) {
    points[i] = call.inputs[i];
  }
  Result<Outputs> outputs = at_corners({call.node, call.opset, points, call.arithmetic});
  if (!outputs || call.arithmetic.float_unit == 0) {
    return outputs;
  }
  std::vector<TensorPtr> magnitudes = pick_each({call.node, call.opset, points, call.arithmetic}, magnitude_of);
  Tensor mean = *magnitudes[3];
  for (double& value : mean.reals()) {
    value = -value;
  }
  magnitudes[3] = std::make_shared<const Tensor>(std::move(mean));
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

/// Number of products summed into one output of `node`, the bias included.
double products_per_output(const Node& node, const Tensor& x, const Tensor& w) {
  const core::Shape& shape = w.shape();
  double products = 1;
  if (node.op_type == "Conv") {
    products = extent_product(shape, 1);
  } else if (node.op_type == "ConvTranspose") {
    products = extent_product(shape) / static_cast<double>(shape[1] * node.int_or("group", 1));
  } else if (node.op_type == "Gemm") {
    products = static_cast<double>(shape[node.int_or("transB", 0) != 0 ? 1 : 0]);
  } else {
    products = x.rank() == 0 ? 1 : static_cast<double>(x.shape().back());
  }
  return products + 1;
}

/// s_x·s_w per output element: one step of the accumulator.
std::vector<double> accumulator_steps(const Node& node, const Tensor& output, const core::QuantParams& x,
                                      const core::QuantParams& w) {
  const core::Shape& shape = output.shape();
  const bool convolution = node.op_type == "Conv" || node.op_type == "ConvTranspose";
  const std::size_t channels = shape.empty() ? 1 : static_cast<std::size_t>(convolution ? shape[1] : shape.back());
  const std::size_t inner = convolution ? static_cast<std::size_t>(extent_product(shape, 2)) : 1;
  std::vector<double> steps(static_cast<std::size_t>(output.size()));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double row = x.scale[i / channels % x.scale.size()];  // per-tensor but for a weight on the left
    steps[i] = row * w.scale[(i / inner) % channels % w.scale.size()];
  }
  return steps;
}

/// Whether every sum has one scale: with scales along the summed axis no integer engine can run it.
bool one_scale_per_output(const Node& node, const Enclosure& x, const Enclosure& w) {
  if (x.codes->axis && x.codes->scale.size() > 1) {
    // A weight on the left: rows of the product.
    const std::int64_t axis = *x.codes->axis < 0 ? *x.codes->axis + x.centre->rank() : *x.codes->axis;
    return node.op_type == "MatMul" && axis == x.centre->rank() - 2 && w.codes->scale.size() == 1;
  }
  if (!w.codes->axis || w.codes->scale.size() == 1) {
    return true;
  }
  const std::int64_t rank = w.centre->rank();
  const std::int64_t axis = *w.codes->axis < 0 ? *w.codes->axis + rank : *w.codes->axis;
  if (node.op_type == "Conv") {
    return axis == 0;
  }
  if (node.op_type == "Gemm") {
    return axis == (node.int_or("transB", 0) != 0 ? 0 : 1);
  }
  return axis == (node.op_type == "ConvTranspose" ? 1 : rank - 1);
}

/// factor · radius + error · magnitude, the relative error of the enclosure left out.
TensorPtr error_of(const Enclosure& e, double factor, double error) {
  Tensor result = *magnitude_of(e);
  const std::span<double> values = result.reals();
  const std::span<const double> centre = e.centre->reals();
  const std::span<const double> low = e.low_or_centre().reals();
  const std::span<const double> high = e.high_or_centre().reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = factor * std::max(high[i] - centre[i], centre[i] - low[i]) + error * values[i];
  }
  return std::make_shared<const Tensor>(std::move(result));
}

/// Conv, ConvTranspose, Gemm, MatMul: y = Σ w·x + b. With the inputs off by r_x, r_w, r_b:
/// |Δy| <= Σ|w|r_x + Σ|x|r_w + Σ r_x·r_w + r_b, plus γ_n·(Σ|w||x| + |b|) for n roundings.
Result<Outputs> enclose_bilinear(const Call& call) {
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Enclosure output = exact_outputs(std::move(*centre)).front();
  const Enclosure& x = *call.inputs[0];
  const Enclosure& w = *call.inputs[1];
  const Enclosure* bias = call.inputs.size() > 2 ? call.inputs[2] : nullptr;
  const Arithmetic& arithmetic = call.arithmetic;
  const bool integers = arithmetic.integer_accumulator && x.codes != nullptr && w.codes != nullptr &&
                        (bias == nullptr || bias->codes != nullptr) && one_scale_per_output(call.node, x, w);
  if (all_exact(call) && arithmetic.float_unit == 0) {
    return Outputs{output};
  }
  Node positive = call.node;
  for (const char* factor : {"alpha", "beta"}) {
    if (positive.has(factor)) {
      positive.attributes[factor] = std::fabs(positive.float_or(factor, 1.0));
    }
  }
  const Call absolute{positive, call.opset, call.inputs, arithmetic};
  std::vector<double> radius(static_cast<std::size_t>(output.centre->size()), 0.0);
  const auto add = [&](std::vector<TensorPtr> inputs) -> core::Status {
    const Result<std::vector<Tensor>> part = run(absolute, inputs);
    if (!part) {
      return part.error();
    }
    const std::span<const double> values = (*part)[0].reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      radius[i] += values[i];
    }
    return core::success();
  };
  // Roundings of the sum itself, together with the relative errors of its operands.
  const double unit = integers ? arithmetic.accumulator_unit : arithmetic.float_unit;
  const double operands = integers ? 0 : x.relative + w.relative + (bias == nullptr ? 0 : bias->relative);
  const double rounded = gamma(products_per_output(call.node, *x.centre, *w.centre) + 4, unit) + operands;
  const double sum_error = rounded * (1 + operands);
  const double slack = 1 + sum_error;
  // The bias's declared scale is s_x·s_w rounded to float32; an integer engine adds its code as it is.
  const double bias_error = sum_error + (integers ? 2 * kFloatUnit : 0);
  std::vector<TensorPtr> inputs = pick_each(absolute, magnitude_of);
  if (bias != nullptr) {
    inputs[2] = error_of(*bias, slack, bias_error);
  }
  // |w| and |x| are the larger ends, so that Σ r_x·r_w is inside the first term of either form.
  if (x.is_point()) {
    inputs[1] = error_of(w, slack, sum_error);
  } else {
    inputs[0] = error_of(x, slack, sum_error);
  }
  if (const core::Status status = add(inputs); !status) {
    return status.error();
  }
  if (!x.is_point() && !w.is_point()) {
    inputs[0] = magnitude_of(exact_enclosure(x.centre));
    inputs[1] = error_of(w, slack, 0);
    if (bias != nullptr) {
      inputs[2] = std::make_shared<const Tensor>(Tensor::zeros(bias->centre->type(), bias->centre->shape()));
    }
    if (const core::Status status = add(inputs); !status) {
      return status.error();
    }
  }
  if (integers) {
    if (arithmetic.rounds_accumulator) {
      // The scaled sum is rounded once to half a unit of at most 2·s_x·s_w, then shifted and rounded again.
      const std::vector<double> steps = accumulator_steps(call.node, *output.centre, *x.codes, *w.codes);
      for (std::size_t i = 0; i < radius.size(); ++i) {
        radius[i] += steps[i];
      }
    }
    output.relative = arithmetic.multiplier_error;
    output.accumulator = true;
  }
  widen(output, radius);
  return Outputs{output};
}

/// Operators whose result depends on shapes only.
Result<Outputs> enclose_shape(const Call& call) {
  Result<std::vector<Tensor>> value = run(call, pick_each(call, centre_of));
  if (!value) {
    return value.error();
  }
  return exact_outputs(std::move(*value));
}

/// Everything else: certain only where its inputs are and no rounding happens.
Result<Outputs> enclose_unknown(const Call& call) {
  if (!all_exact(call)) {
    return no_bound(call.node, "its inputs are uncertain");
  }
  Result<std::vector<Tensor>> value = run(call, pick_each(call, centre_of));
  if (!value) {
    return value.error();
  }
  const bool rounds = std::any_of(value->begin(), value->end(), [](const Tensor& t) { return t.is_real(); });
  if (rounds && call.arithmetic.float_unit > 0) {
    return no_bound(call.node, "the error of its float32 form is unknown");
  }
  return exact_outputs(std::move(*value));
}

using Rule = Result<Outputs> (*)(const Call&);
struct NamedRule {
  std::string_view op;
  Rule rule;
};

// Sorted by name: looked up by bisection.
constexpr std::array kRules = {
    NamedRule{"Abs", &enclose_absolute},
    NamedRule{"Add", &enclose_addition},
    NamedRule{"AveragePool", &enclose_average_pool},
    NamedRule{"BatchNormalization", &enclose_batch_normalization},
    NamedRule{"Cast", &enclose_step},
    NamedRule{"Ceil", &enclose_step},
    NamedRule{"Clip", &enclose_selection},
    NamedRule{"Concat", &enclose_selection},
    NamedRule{"Conv", &enclose_bilinear},
    NamedRule{"ConvTranspose", &enclose_bilinear},
    NamedRule{"Cos", &enclose_soft_turning},
    NamedRule{"CumSum", &enclose_reduction},
    NamedRule{"DepthToSpace", &enclose_selection},
    NamedRule{"Div", &enclose_quotient},
    NamedRule{"Dropout", &enclose_selection},
    NamedRule{"Elu", &enclose_bounded_function},
    NamedRule{"Erf", &enclose_bounded_function},
    NamedRule{"Exp", &enclose_unbounded_function},
    NamedRule{"Expand", &enclose_selection},
    NamedRule{"Flatten", &enclose_selection},
    NamedRule{"Floor", &enclose_step},
    NamedRule{"Gather", &enclose_selection},
    NamedRule{"GatherElements", &enclose_selection},
    NamedRule{"GatherND", &enclose_selection},
    NamedRule{"Gelu", &enclose_soft_turning},
    NamedRule{"Gemm", &enclose_bilinear},
    NamedRule{"GlobalAveragePool", &enclose_average_pool},
    NamedRule{"GlobalMaxPool", &enclose_selection},
    NamedRule{"HardSigmoid", &enclose_hard_sigmoid},
    NamedRule{"HardSwish", &enclose_hard_swish},
    NamedRule{"Identity", &enclose_selection},
    NamedRule{"LeakyRelu", &enclose_piecewise_linear},
    NamedRule{"Log", &enclose_log},
    NamedRule{"LogSoftmax", &enclose_softmax},
    NamedRule{"MatMul", &enclose_bilinear},
    NamedRule{"Max", &enclose_selection},
    NamedRule{"MaxPool", &enclose_max_pool},
    NamedRule{"Mean", &enclose_addition},
    NamedRule{"Min", &enclose_selection},
    NamedRule{"Mish", &enclose_soft_turning},
    NamedRule{"Mul", &enclose_product},
    NamedRule{"Neg", &enclose_negation},
    NamedRule{"PRelu", &enclose_piecewise_linear},
    NamedRule{"Pad", &enclose_selection},
    NamedRule{"Pow", &enclose_power},
    NamedRule{"Reciprocal", &enclose_quotient},
    NamedRule{"ReduceMax", &enclose_selection},
    NamedRule{"ReduceMean", &enclose_reduction},
    NamedRule{"ReduceMin", &enclose_selection},
    NamedRule{"ReduceSum", &enclose_reduction},
    NamedRule{"Relu", &enclose_selection},
    NamedRule{"Reshape", &enclose_selection},
    NamedRule{"Resize", &enclose_resize},
    NamedRule{"Round", &enclose_step},
    NamedRule{"Selu", &enclose_bounded_function},
    NamedRule{"Shape", &enclose_shape},
    NamedRule{"Sigmoid", &enclose_bounded_function},
    NamedRule{"Sin", &enclose_soft_turning},
    NamedRule{"Size", &enclose_shape},
    NamedRule{"Slice", &enclose_selection},
    NamedRule{"Softmax", &enclose_softmax},
    NamedRule{"Softplus", &enclose_bounded_function},
    NamedRule{"SpaceToDepth", &enclose_selection},
    NamedRule{"Split", &enclose_selection},
    NamedRule{"Sqrt", &enclose_root},
    NamedRule{"Squeeze", &enclose_selection},
    NamedRule{"Sub", &enclose_difference},
    NamedRule{"Sum", &enclose_addition},
    NamedRule{"Swish", &enclose_soft_turning},
    NamedRule{"Tanh", &enclose_bounded_function},
    NamedRule{"Tile", &enclose_selection},
    NamedRule{"Transpose", &enclose_selection},
    NamedRule{"Unsqueeze", &enclose_selection},
    NamedRule{"Upsample", &enclose_resize},
    NamedRule{"Where", &enclose_where},
};

Rule find_rule(const Node& node) {
  if (!node.domain.empty()) {
    return &enclose_unknown;
  }
  const auto* found = std::lower_bound(kRules.begin(), kRules.end(), node.op_type,
                                       [](const NamedRule& rule, std::string_view name) { return rule.op < name; });
  return found != kRules.end() && found->op == node.op_type ? found->rule : &enclose_unknown;
}

/// A number that is not finite has no neighbourhood: bounds from it would be meaningless.
bool all_finite(const Enclosure& e) {
  if (!e.centre->is_real()) {
    return true;
  }
  const std::span<const double> low = e.low_or_centre().reals();
  const std::span<const double> high = e.high_or_centre().reals();
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (!std::isfinite(low[i]) || !std::isfinite(high[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

double gamma(double roundings, double unit) {
  const double product = roundings * unit;
  return product / (1 - product);
}

Enclosure exact_enclosure(TensorPtr value) {
  Enclosure enclosure;
  enclosure.centre = std::move(value);
  return enclosure;
}

Enclosure enclosure_around(TensorPtr centre, std::span<const double> radius) {
  Enclosure enclosure = exact_enclosure(std::move(centre));
  widen(enclosure, radius);
  return enclosure;
}

std::vector<double> radius_of(const Enclosure& enclosure) {
  const std::vector<double> centre = enclosure.centre->to_reals();
  std::vector<double> radius(centre.size());
  for (std::size_t i = 0; i < centre.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const double low = enclosure.low_or_centre().as_real(index);
    const double high = enclosure.high_or_centre().as_real(index);
    radius[i] = std::max(high - centre[i] + enclosure.relative * std::fabs(high),
                         centre[i] - low + enclosure.relative * std::fabs(low));
  }
  return radius;
}

Enclosure with_explicit_ends(const Enclosure& enclosure) {
  if (enclosure.relative == 0 || !enclosure.centre->is_real()) {
    return enclosure;
  }
  Tensor low = enclosure.low_or_centre();
  Tensor high = enclosure.high_or_centre();
  for (double& value : low.reals()) {
    value -= enclosure.relative * std::fabs(value);
  }
  for (double& value : high.reals()) {
    value += enclosure.relative * std::fabs(value);
  }
  Enclosure result = exact_enclosure(enclosure.centre);
  result.low = std::make_shared<const Tensor>(std::move(low));
  result.high = std::make_shared<const Tensor>(std::move(high));
  return result;
}

Result<std::vector<Enclosure>> enclose_node(const Node& node, std::int64_t opset,
                                            std::span<const Enclosure* const> inputs, const Arithmetic& arithmetic) {
  const Call call{node, opset, inputs, arithmetic};
  const bool integers_only = std::all_of(inputs.begin(), inputs.end(), [](const Enclosure* e) {
    return e == nullptr || (!e->centre->is_real() && e->is_exact());
  });
  if (integers_only || (arithmetic.float_unit == 0 && all_exact(call))) {
    return enclose_shape(call);  // nothing uncertain: one exact run
  }
  const Result<Outputs> outputs = find_rule(node)(call);
  if (!outputs) {
    return outputs;
  }
  for (const Enclosure& output : *outputs) {
    if (!all_finite(output)) {
      return no_bound(node, "its value is not finite");
    }
  }
  return outputs;
}

}  // namespace assay::judge
