#include <algorithm>
#include <cmath>

#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/enclosures/product_memo.hpp"
#include "harness/judge/evidence/operators.hpp"

// Sums of products: Conv, ConvTranspose, Gemm, MatMul.
namespace assay::judge::rules {

namespace {

/// Number of products summed into one output of `node`, the bias included.
double products_per_output(const Node& node, const Tensor& x, const Tensor& w) {
  const core::Shape& shape = w.shape();
  if (is_convolution(traits_of(node).product)) {
    return extent_product(shape) / static_cast<double>(weight_layout(node, w.rank()).channels(shape)) + 1;
  }
  if (x.rank() == 0) {
    return 2;
  }
  return static_cast<double>(reads_transposed(node, 0) ? x.shape().front() : x.shape().back()) + 1;
}

/// s_x·s_w, times Gemm's alpha, per output element: one step of the accumulator.
std::vector<double> accumulator_steps(const Node& node, const Tensor& output, const core::QuantParams& x,
                                      const core::QuantParams& w) {
  const core::Shape& shape = output.shape();
  const bool convolution = is_convolution(traits_of(node).product);
  const std::size_t channels = shape.empty() ? 1 : static_cast<std::size_t>(convolution ? shape[1] : shape.back());
  const std::size_t inner = convolution ? static_cast<std::size_t>(extent_product(shape, 2)) : 1;
  const double alpha = std::fabs(node.float_or("alpha", 1.0));
  std::vector<double> steps(static_cast<std::size_t>(output.size()));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double row = x.scale[i / channels % x.scale.size()];  // per-tensor but for a weight on the left
    steps[i] = alpha * row * w.scale[(i / inner) % channels % w.scale.size()];
  }
  return steps;
}

/// Whether every sum has one scale: with scales of blocks or along the summed axis no integer engine can run it.
bool one_scale_per_output(const Node& node, const Enclosure& x, const Enclosure& w) {
  if (x.codes->block != 0 || w.codes->block != 0) return false;
  if (x.codes->axis && x.codes->scale.size() > 1) {
    // A weight on the left: rows of the product.
    const std::int64_t axis = *x.codes->axis < 0 ? *x.codes->axis + x.centre->rank() : *x.codes->axis;
    return is_matrix_product(traits_of(node).product) && w.codes->scale.size() == 1 &&
           axis == weight_layout(node, x.centre->rank(), 0).axis;
  }
  if (!w.codes->axis || w.codes->scale.size() == 1) {
    return true;
  }
  const std::int64_t rank = w.centre->rank();
  const std::int64_t axis = *w.codes->axis < 0 ? *w.codes->axis + rank : *w.codes->axis;
  return axis == weight_layout(node, rank).axis;
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

}  // namespace

namespace {

Result<TensorPtr> product(const Node& node, std::int64_t opset, const std::vector<TensorPtr>& inputs) {
  thread_local ProductMemo memo;
  return memo.get(node, opset, inputs);
}

TensorPtr zeros_like(const Enclosure& e) {
  return std::make_shared<const Tensor>(Tensor::zeros(e.centre->type(), e.centre->shape()));
}

}  // namespace

/// Conv, ConvTranspose, Gemm, MatMul: y = Σ w·x + b. With the inputs off by r_x, r_w, r_b:
/// |Δy| <= Σ|w|r_x + Σ|x|r_w + Σ r_x·r_w + r_b, plus γ_n·(Σ|w||x| + |b|) for n roundings.
Result<Outputs> enclose_bilinear(const Call& call) {
  const Result<TensorPtr> centre = product(call.node, call.opset, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Enclosure output = exact_enclosure(*centre);
  const Enclosure& x = *call.inputs[0];
  const Enclosure& w = *call.inputs[1];
  const Enclosure* bias = call.inputs.size() > 2 ? call.inputs[2] : nullptr;
  const Arithmetic& arithmetic = call.arithmetic;
  const bool real_bias = bias != nullptr && bias->codes == nullptr;
  const bool bias_fits = !real_bias || ((arithmetic.real_bias || arithmetic.rounds_bias) && bias->is_exact());
  const bool integers = arithmetic.integer_accumulator && x.codes != nullptr && w.codes != nullptr && bias_fits &&
                        one_scale_per_output(call.node, x, w);
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
  const auto add = [&](double factor, const std::vector<TensorPtr>& inputs) -> core::Status {
    const Result<TensorPtr> part = product(positive, call.opset, inputs);
    if (!part) {
      return part.error();
    }
    const std::span<const double> values = (*part)->reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      radius[i] += factor * values[i];
    }
    return core::success();
  };
  // Roundings of the sum itself, together with the relative errors of its operands.
  const double unit = integers ? arithmetic.accumulator_unit : arithmetic.float_unit;
  const double operands = integers ? 0 : x.relative + w.relative + (bias == nullptr ? 0 : bias->relative);
  const double rounded = gamma(products_per_output(call.node, *x.centre, *w.centre) + 4, unit) + operands;
  const double sum_error = rounded * (1 + operands);
  const double slack = 1 + sum_error;
  // The bias's declared scale is s_x·s_w rounded to float32; an integer engine adds its code as it is. A real bias is
  // added to the dequantized sum y − b, whose rounding is u(|y| + |b|).
  const double bias_error = sum_error + (integers ? 2 * kFloatUnit : 0);
  std::vector<TensorPtr> inputs = pick_each(absolute, magnitude_of);
  if (x.is_point() && w.is_point() && (bias == nullptr || bias->is_point())) {
    // sum_error·Σ|w||x| + bias_error·|b|, from sums that are the same whatever the errors are.
    core::Status status = add(bias == nullptr ? sum_error : bias_error, inputs);
    if (status && bias != nullptr && bias_error != sum_error) {
      inputs[2] = zeros_like(*bias);
      status = add(sum_error - bias_error, inputs);
    }
    if (!status) {
      return status.error();
    }
  } else {
    if (bias != nullptr) {
      inputs[2] = error_of(*bias, slack, bias_error);
    }
    // |w| and |x| are the larger ends, so that Σ r_x·r_w is inside the first term of either form.
    if (x.is_point()) {
      inputs[1] = error_of(w, slack, sum_error);
    } else {
      inputs[0] = error_of(x, slack, sum_error);
    }
    if (const core::Status status = add(1, inputs); !status) {
      return status.error();
    }
  }
  if (!x.is_point() && !w.is_point()) {
    inputs[0] = magnitude_of(exact_enclosure(x.centre));
    inputs[1] = error_of(w, slack, 0);
    if (bias != nullptr) {
      inputs[2] = zeros_like(*bias);
    }
    if (const core::Status status = add(1, inputs); !status) {
      return status.error();
    }
  }
  if (integers) {
    // The scaled sum is rounded once to half a unit of at most 2·s_x·s_w, then shifted and rounded again. A real bias
    // becomes a code c next to b/(s_x·s_w) in float32: off by s_x·s_w·(½ + u) + 2u|b|, the last of it in bias_error.
    const double extra =
        (arithmetic.rounds_accumulator ? 1 : 0) + (real_bias && arithmetic.rounds_bias ? 0.5 + kFloatUnit : 0);
    if (extra > 0) {
      const std::vector<double> steps = accumulator_steps(call.node, *output.centre, *x.codes, *w.codes);
      for (std::size_t i = 0; i < radius.size(); ++i) {
        radius[i] += extra * steps[i];
      }
    }
    output.relative = arithmetic.multiplier_error;
    output.accumulator = true;
  }
  widen(output, radius);
  return Outputs{output};
}

}  // namespace assay::judge::rules
