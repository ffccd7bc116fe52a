#include "harness/judge/enclosure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "harness/judge/enclosure_rules.hpp"

namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;
using rules::Call;
using rules::Outputs;

/// Operators whose result depends on shapes only.
Result<Outputs> enclose_shape(const Call& call) {
  Result<std::vector<Tensor>> value = rules::run(call, rules::pick_each(call, rules::centre_of));
  if (!value) {
    return value.error();
  }
  return rules::exact_outputs(std::move(*value));
}

/// Everything else: certain only where its inputs are and no rounding happens.
Result<Outputs> enclose_unknown(const Call& call) {
  if (!rules::all_exact(call)) {
    return rules::no_bound(call.node, "its inputs are uncertain");
  }
  Result<std::vector<Tensor>> value = rules::run(call, rules::pick_each(call, rules::centre_of));
  if (!value) {
    return value.error();
  }
  const bool rounds = std::any_of(value->begin(), value->end(), [](const Tensor& t) { return t.is_real(); });
  if (rounds && call.arithmetic.float_unit > 0) {
    return rules::no_bound(call.node, "the error of its float32 form is unknown");
  }
  return rules::exact_outputs(std::move(*value));
}

using Rule = Result<Outputs> (*)(const Call&);
struct NamedRule {
  std::string_view op;
  Rule rule;
};

// Sorted by name: looked up by bisection.
constexpr std::array kRules = {
    NamedRule{"Abs", &rules::enclose_absolute},
    NamedRule{"Add", &rules::enclose_addition},
    NamedRule{"Atan", &rules::enclose_bounded_function},
    NamedRule{"AveragePool", &rules::enclose_average_pool},
    NamedRule{"BatchNormalization", &rules::enclose_batch_normalization},
    NamedRule{"Cast", &rules::enclose_step},
    NamedRule{"Ceil", &rules::enclose_step},
    NamedRule{"Celu", &rules::enclose_exponential_unit},
    NamedRule{"Clip", &rules::enclose_selection},
    NamedRule{"Concat", &rules::enclose_selection},
    NamedRule{"Conv", &rules::enclose_bilinear},
    NamedRule{"ConvTranspose", &rules::enclose_bilinear},
    NamedRule{"Cos", &rules::enclose_soft_turning},
    NamedRule{"CumSum", &rules::enclose_reduction},
    NamedRule{"DepthToSpace", &rules::enclose_selection},
    NamedRule{"Div", &rules::enclose_quotient},
    NamedRule{"Dropout", &rules::enclose_selection},
    NamedRule{"Elu", &rules::enclose_exponential_unit},
    NamedRule{"Erf", &rules::enclose_bounded_function},
    NamedRule{"Exp", &rules::enclose_unbounded_function},
    NamedRule{"Expand", &rules::enclose_selection},
    NamedRule{"Flatten", &rules::enclose_selection},
    NamedRule{"Floor", &rules::enclose_step},
    NamedRule{"Gather", &rules::enclose_selection},
    NamedRule{"GatherElements", &rules::enclose_selection},
    NamedRule{"GatherND", &rules::enclose_selection},
    NamedRule{"Gelu", &rules::enclose_soft_turning},
    NamedRule{"Gemm", &rules::enclose_bilinear},
    NamedRule{"GlobalAveragePool", &rules::enclose_average_pool},
    NamedRule{"GlobalMaxPool", &rules::enclose_selection},
    NamedRule{"GroupNormalization", &rules::enclose_normalization},
    NamedRule{"HardSigmoid", &rules::enclose_hard_sigmoid},
    NamedRule{"HardSwish", &rules::enclose_hard_swish},
    NamedRule{"Identity", &rules::enclose_selection},
    NamedRule{"InstanceNormalization", &rules::enclose_normalization},
    NamedRule{"LayerNormalization", &rules::enclose_normalization},
    NamedRule{"LeakyRelu", &rules::enclose_piecewise_linear},
    NamedRule{"Log", &rules::enclose_log},
    NamedRule{"LogSoftmax", &rules::enclose_softmax},
    NamedRule{"MatMul", &rules::enclose_bilinear},
    NamedRule{"Max", &rules::enclose_selection},
    NamedRule{"MaxPool", &rules::enclose_max_pool},
    NamedRule{"Mean", &rules::enclose_addition},
    NamedRule{"Min", &rules::enclose_selection},
    NamedRule{"Mish", &rules::enclose_soft_turning},
    NamedRule{"Mul", &rules::enclose_product},
    NamedRule{"Neg", &rules::enclose_negation},
    NamedRule{"PRelu", &rules::enclose_piecewise_linear},
    NamedRule{"Pad", &rules::enclose_selection},
    NamedRule{"Pow", &rules::enclose_power},
    NamedRule{"Reciprocal", &rules::enclose_quotient},
    NamedRule{"ReduceMax", &rules::enclose_selection},
    NamedRule{"ReduceMean", &rules::enclose_reduction},
    NamedRule{"ReduceMin", &rules::enclose_selection},
    NamedRule{"ReduceSum", &rules::enclose_reduction},
    NamedRule{"Relu", &rules::enclose_selection},
    NamedRule{"Reshape", &rules::enclose_selection},
    NamedRule{"Resize", &rules::enclose_resize},
    NamedRule{"Round", &rules::enclose_step},
    NamedRule{"Selu", &rules::enclose_bounded_function},
    NamedRule{"Shape", &enclose_shape},
    NamedRule{"Sigmoid", &rules::enclose_bounded_function},
    NamedRule{"Sign", &rules::enclose_step},
    NamedRule{"Sin", &rules::enclose_soft_turning},
    NamedRule{"Size", &enclose_shape},
    NamedRule{"Slice", &rules::enclose_selection},
    NamedRule{"Softmax", &rules::enclose_softmax},
    NamedRule{"Softplus", &rules::enclose_bounded_function},
    NamedRule{"Softsign", &rules::enclose_bounded_function},
    NamedRule{"SpaceToDepth", &rules::enclose_selection},
    NamedRule{"Split", &rules::enclose_selection},
    NamedRule{"Sqrt", &rules::enclose_root},
    NamedRule{"Squeeze", &rules::enclose_selection},
    NamedRule{"Sub", &rules::enclose_difference},
    NamedRule{"Sum", &rules::enclose_addition},
    NamedRule{"Swish", &rules::enclose_soft_turning},
    NamedRule{"Tanh", &rules::enclose_bounded_function},
    NamedRule{"ThresholdedRelu", &rules::enclose_threshold},
    NamedRule{"Tile", &rules::enclose_selection},
    NamedRule{"Transpose", &rules::enclose_selection},
    NamedRule{"Unsqueeze", &rules::enclose_selection},
    NamedRule{"Upsample", &rules::enclose_resize},
    NamedRule{"Where", &rules::enclose_where},
};

/// Operators that compute reals from integers alone, and round them.
bool computes_reals(const Node& node) { return node.op_type.ends_with("Window") || node.op_type == "MelWeightMatrix"; }

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
  bool finite = true;
  for (std::size_t i = 0; i < low.size(); ++i) {
    finite &= std::isfinite(low[i]) && std::isfinite(high[i]);
  }
  return finite;
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
  rules::widen(enclosure, radius);
  return enclosure;
}

std::vector<double> radius_of(const Enclosure& enclosure) {
  std::vector<double> radius(static_cast<std::size_t>(enclosure.centre->size()));
  if (enclosure.is_exact()) {
    return radius;
  }
  const auto measure = [&](std::span<const double> low, std::span<const double> centre, std::span<const double> high) {
    for (std::size_t i = 0; i < radius.size(); ++i) {
      radius[i] = std::max(high[i] - centre[i] + enclosure.relative * std::fabs(high[i]),
                           centre[i] - low[i] + enclosure.relative * std::fabs(low[i]));
    }
  };
  if (enclosure.centre->is_real()) {
    measure(enclosure.low_or_centre().reals(), enclosure.centre->reals(), enclosure.high_or_centre().reals());
  } else {
    measure(enclosure.low_or_centre().to_reals(), enclosure.centre->to_reals(), enclosure.high_or_centre().to_reals());
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
  if ((integers_only && !(arithmetic.float_unit > 0 && computes_reals(node))) ||
      (arithmetic.float_unit == 0 && rules::all_exact(call))) {
    return enclose_shape(call);  // nothing uncertain: one exact run
  }
  Result<Outputs> outputs = find_rule(node)(call);
  if (!outputs) {
    return outputs;
  }
  for (const Enclosure& output : *outputs) {
    if (!all_finite(output)) {
      return rules::no_bound(node, "its value is not finite");
    }
  }
  return outputs;
}

}  // namespace assay::judge
