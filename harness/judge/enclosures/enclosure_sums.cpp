#include "harness/judge/enclosures/enclosure_rules.hpp"

#include <algorithm>
#include <cmath>

// What moves, selects and sums.
namespace assay::judge::rules {

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

namespace {

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

}  // namespace

Result<Outputs> enclose_addition(const Call& call) {
  return enclose_sum(call, static_cast<double>(call.inputs.size()));
}

Result<Outputs> enclose_average_pool(const Call& call) {
  const bool global = call.node.op_type == "GlobalAveragePool";
  const double count =
      global ? extent_product(call.inputs[0]->centre->shape(), 2) : extent_product(call.node.ints_or("kernel_shape"));
  Result<Outputs> outputs = enclose_sum(call, count + 1);
  if (outputs) {
    // A mean is a sum of codes with a step that much smaller; at the edges fewer count.
    constexpr double kMostLess = 64;
    const auto most_less = static_cast<int>(std::min(kMostLess, count - 1));
    for (const double step : all_steps(call)) {
      for (int less = 0; less <= most_less; ++less) (*outputs)[0].steps.push_back(step / (count - less));
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
  if (!outputs) return outputs;
  if (!outputs->front().centre->is_real()) {
    // Of codes: each engine has its own rounding, and ONNX's text names none.
    widen(outputs->front(), std::vector<double>(static_cast<std::size_t>(outputs->front().centre->size()), 1));
    return outputs;
  }
  if (call.arithmetic.float_unit == 0) return outputs;
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
  const auto dimensions = static_cast<double>((*outputs)[0].centre->rank());
  const double error = call.arithmetic.float_unit * dimensions * (8 * extent + 3);
  widen((*outputs)[0], std::vector<double>(static_cast<std::size_t>((*outputs)[0].centre->size()), error * largest));
  return outputs;
}

}  // namespace assay::judge::rules
