#include "harness/judge/enclosures/enclosure.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/evidence/operators.hpp"

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

Rule rule_of(Enclosing enclosing) {
  switch (enclosing) {
    case Enclosing::unknown:
      return &enclose_unknown;
    case Enclosing::absolute:
      return &rules::enclose_absolute;
    case Enclosing::addition:
      return &rules::enclose_addition;
    case Enclosing::average_pool:
      return &rules::enclose_average_pool;
    case Enclosing::batch_normalization:
      return &rules::enclose_batch_normalization;
    case Enclosing::bilinear:
      return &rules::enclose_bilinear;
    case Enclosing::bounded_function:
      return &rules::enclose_bounded_function;
    case Enclosing::difference:
      return &rules::enclose_difference;
    case Enclosing::exponential_unit:
      return &rules::enclose_exponential_unit;
    case Enclosing::hard_sigmoid:
      return &rules::enclose_hard_sigmoid;
    case Enclosing::hard_swish:
      return &rules::enclose_hard_swish;
    case Enclosing::log:
      return &rules::enclose_log;
    case Enclosing::max_pool:
      return &rules::enclose_max_pool;
    case Enclosing::negation:
      return &rules::enclose_negation;
    case Enclosing::norm:
      return &rules::enclose_norm;
    case Enclosing::normalization:
      return &rules::enclose_normalization;
    case Enclosing::piecewise_linear:
      return &rules::enclose_piecewise_linear;
    case Enclosing::power:
      return &rules::enclose_power;
    case Enclosing::product:
      return &rules::enclose_product;
    case Enclosing::quotient:
      return &rules::enclose_quotient;
    case Enclosing::recurrent:
      return &rules::enclose_recurrent;
    case Enclosing::reduction:
      return &rules::enclose_reduction;
    case Enclosing::resize:
      return &rules::enclose_resize;
    case Enclosing::root:
      return &rules::enclose_root;
    case Enclosing::selection:
      return &rules::enclose_selection;
    case Enclosing::shape:
      return &enclose_shape;
    case Enclosing::soft_turning:
      return &rules::enclose_soft_turning;
    case Enclosing::softmax:
      return &rules::enclose_softmax;
    case Enclosing::step:
      return &rules::enclose_step;
    case Enclosing::threshold:
      return &rules::enclose_threshold;
    case Enclosing::unbounded_function:
      return &rules::enclose_unbounded_function;
    case Enclosing::where:
      return &rules::enclose_where;
  }
  return &enclose_unknown;
}

/// Operators that compute reals from integers alone, and round them.
bool computes_reals(const Node& node) { return node.op_type.ends_with("Window") || node.op_type == "MelWeightMatrix"; }

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

core::Status round_to_half(Enclosure& enclosure, double unit, const Node& node) {
  if (!enclosure.centre->is_real()) return core::success();
  double largest = 0;
  for (const double value : enclosure.low_or_centre().reals()) largest = std::max(largest, std::fabs(value));
  for (const double value : enclosure.high_or_centre().reals()) largest = std::max(largest, std::fabs(value));
  enclosure.relative += unit * (1 + enclosure.relative);
  if (largest * (1 + enclosure.relative) > half_limit(unit))
    return rules::no_bound(node, "it may be beyond the largest number of 16 bits");
  const std::vector<double> least(static_cast<std::size_t>(enclosure.centre->size()), half_underflow(unit));
  rules::widen(enclosure, least);
  return core::success();
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
  Result<Outputs> outputs = rule_of(traits_of(node).enclosing)(call);
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
