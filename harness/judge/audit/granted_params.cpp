#include "harness/judge/audit/granted_params.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::QuantParams;
using core::Tensor;
using model::Node;

/// The parameters of a matrix of `shape` whose transpose has `params`.
QuantParams of_transposed(QuantParams params, const core::Shape& shape) {
  if (!params.axis || shape.size() != 2) return params;
  const std::int64_t along = *params.axis < 0 ? *params.axis + 2 : *params.axis;
  params.axis = 1 - along;
  if (params.block == 0) return params;
  const auto blocks = [&](std::int64_t axis) {  // along an axis of the matrix
    const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
    return static_cast<std::size_t>(axis == *params.axis ? (extent + params.block - 1) / params.block : extent);
  };
  const std::size_t rows = blocks(0), columns = blocks(1);
  if (params.scale.size() != rows * columns) return params;
  const auto turned = [&](const auto& list) {
    auto result = list;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) result[r * columns + c] = list[c * rows + r];
    }
    return result;
  };
  params.scale = turned(params.scale);
  if (params.zero_point.size() == rows * columns) params.zero_point = turned(params.zero_point);
  return params;
}

/// float32 roundings of a weight's scale and of w / s: 2⁻²² of the rule for weights (docs/oracle.md).
constexpr double kScaleRounding = 1 + 0x1p-22;
/// Largest magnitude of an int32 bias code.
constexpr double kBiasCodes = 0x1p31;

/// Codes for a symmetric range: ±127 of them are used by all converters, ±128 by some; unsigned ones may be spread over
/// 127.5 (docs/oracle.md, L0).
CodeSpan symmetric_span(const AllowedRange& range, core::DType type, const converters::Policy& policy) {
  const double coarse = symmetric_steps(type, policy);
  const bool spread = is_wide_unsigned(type) && policy.divisor == 127;
  const double fine = spread ? coarse + 0.5 : coarse;
  const double least =
      std::max(0.0, symmetric_scale(range.low.high, range.high.low, fine, policy) - range.slack / fine);
  const double most = symmetric_scale(range.low.low, range.high.high, coarse, policy) + range.slack / coarse;
  const core::IntegerLimits limits = core::integer_limits(type);
  if (core::is_real(type)) {
    const double steps = 2 * core::half_gap(0, type);
    return {least * steps, most * steps, {-coarse * most, -coarse * least}, {coarse * least, coarse * most}, type};
  }
  const double half = static_cast<double>(limits.high - limits.low - 1) / 2;
  return {least,
          most,
          {(policy.narrow_range ? -half : -half - 1) * most, -half * least},
          {half * least, (half + 1) * most}};
}

/// Codes for a range of two ends: zero_point is rounded, so that both ends lie up to half a step off, together.
CodeSpan asymmetric_span(const AllowedRange& range, core::DType type, const converters::Policy& policy) {
  const core::IntegerLimits limits = core::integer_limits(type);
  const auto steps = static_cast<double>(limits.high - limits.low);
  if (policy.zero == converters::ZeroRule::exact) {
    const WidenedSpan widened = widened_span(range, steps);
    const double slack = range.slack / widened.fewest;
    const double least = std::max(0.0, widened.least_scale - slack), most = widened.most_scale + slack;
    return {least,
            most,
            {-widened.most_below * most, -widened.least_below * least},
            {(steps - widened.most_below) * least, (steps - widened.least_below) * most}};
  }
  const double least = std::max(0.0, range.high.low - range.low.high - 2 * range.slack) / steps;
  const double most = (range.high.high - range.low.low + 2 * range.slack) / steps;
  CodeSpan span{least, most, range.low, range.high};
  if (least > 0) {
    // Where every legal range leads to one zero_point, it is known.
    const double lowest = (-range.low.high - range.slack) / most, highest = (-range.low.low + range.slack) / least;
    const double first = std::round(lowest * (1 - 0x1p-22)), last = std::round(highest * (1 + 0x1p-22));
    if (first == last && first >= 0 && first <= steps) {
      span.bottom = {-first * most, -first * least};
      span.top = {(steps - first) * least, (steps - first) * most};
      return span;
    }
  }
  const double shift = most / 2 + range.slack;
  span.bottom = {range.low.low - shift, std::min(0.0, range.low.high + shift)};
  span.top = {std::max(0.0, range.high.low - shift), range.high.high + shift};
  return span;
}

/// What powers of two make of it: the step changes, and with it how far the codes reach.
void apply_policy(CodeSpan& span, const converters::Policy& policy) {
  const double least = span.least_step, most = span.step;
  if (policy.power_of_two && least > 0) {
    span.least_step = std::exp2(std::floor(std::log2(least)));
    span.step = std::exp2(std::ceil(std::log2(most)));
  }
  const double narrower = least > 0 ? std::min(1.0, span.least_step / least) : 1;
  const double wider = most > 0 ? std::max(1.0, span.step / most) : 1;
  if (narrower < 1 || wider > 1) {
    span.bottom = {span.bottom.low * wider - span.step, std::min(0.0, span.bottom.high * narrower + span.step)};
    span.top = {std::max(0.0, span.top.low * narrower - span.step), span.top.high * wider + span.step};
  }
}

/// Under the policy `dequantize` "affine" a level takes a division, a product and a sum in float32 of what is at most
/// the width of the range, and both ends of that are rounded: 4·2⁻²⁴ of it (docs/oracle_numerics.md).
double level_error_of(const CodeSpan& span, const converters::Policy& policy) {
  constexpr double kRoundings = 4 * 0x1p-24;
  return policy.dequantize == converters::DequantizeForm::affine ? kRoundings * (span.top.high - span.bottom.low) : 0;
}

}  // namespace

bool reads_alike(const Node& made, const Node& node, std::size_t index) {
  return reads_transposed(made, index) == reads_transposed(node, index);
}

QuantParams turned_to(QuantParams params, const Node& made, const Node& node, std::size_t index,
                      const core::Shape& shape) {
  return reads_alike(made, node, index) ? params : of_transposed(std::move(params), shape);
}

core::TensorPtr declared_values(const Operand& operand, const Node& made, const Node& node, std::size_t index) {
  core::TensorPtr values = dequantized_constant(operand);
  const bool turned = !reads_alike(made, node, index);
  const double alpha = alpha_of(made);
  if (values == nullptr || (!turned && alpha == 1)) return values;
  if (turned && values->rank() != 2) return nullptr;
  core::Tensor result =
      turned ? core::Tensor(values->type(), {values->shape()[1], values->shape()[0]}, values->to_reals()) : *values;
  const std::span<double> out = result.reals();
  const auto columns = turned ? static_cast<std::size_t>(result.shape()[1]) : 1;
  const auto rows = out.size() / std::max<std::size_t>(columns, 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = alpha * values->as_real(static_cast<std::int64_t>(turned ? i % columns * rows + i / columns : i));
  }
  return std::make_shared<const core::Tensor>(std::move(result));
}

QuantParams declared_of(QuantParams params, const Node& made, const Node& node, std::size_t index,
                        const core::Shape& shape) {
  for (auto* each : {&params.scale, &params.scale_step})
    for (double& scale : *each) scale *= std::fabs(alpha_of(made));
  return turned_to(std::move(params), made, node, index, shape);
}

CodeSpan CodeSpan::of(const QuantParams& params, const converters::Policy& policy) {
  const core::IntegerLimits limits = core::integer_limits(params.type);
  const std::int64_t unused = policy.narrow_range && params.type == core::DType::int8 ? 1 : 0;
  std::optional<CodeSpan> all;
  for (std::size_t channel = 0; channel < params.scale.size(); ++channel) {
    const double scale = params.scale[channel];
    const std::int64_t zero_point = params.zero_point[params.zero_point.size() == 1 ? 0 : channel];
    const double bottom = static_cast<double>(limits.low + unused - zero_point) * scale;
    const double top = static_cast<double>(limits.high - zero_point) * scale;
    const double step = 2 * core::half_gap(0, params.type) * scale;
    CodeSpan span{step, step, {bottom, bottom}, {top, top}, params.type};
    span.level_error = level_error_of(span, policy);
    // The zero point of wide codes, added in float32 before rounding, takes bits from the quotient.
    if (core::element_size_bits(params.type) > 8)
      span.level_error += 0x1p-24 * std::fabs(static_cast<double>(zero_point) * scale);
    span.relative = 2 * params.unit;
    all = all ? all->joined(span) : span;
  }
  return *all;
}

CodeSpan CodeSpan::joined(const CodeSpan& other) const {
  return {std::min(least_step, other.least_step),
          std::max(step, other.step),
          {std::min(bottom.low, other.bottom.low), std::max(bottom.high, other.bottom.high)},
          {std::min(top.low, other.top.low), std::max(top.high, other.top.high)},
          type,
          std::max(level_error, other.level_error),
          std::max(relative, other.relative)};
}

GrantedParams::GrantedParams(const LayerContext& context)
    : context_(context),
      plain_{context.ranges != nullptr && context.calibration == nullptr ? *context.ranges : RangeTable(), {}, {}, {}},
      legal_(context, context.calibration != nullptr ? *context.calibration : plain_,
             context.evidence.converter.policy.without_floor()),
      weight_policy_(context.evidence, context.evidence.converter.policy.without_floor()) {}

QuantParams GrantedParams::activation(const std::string& tensor, const QuantParams& declared) const {
  const QuantParams* own = audited(tensor);
  const bool fits_type = own != nullptr && own->type == declared.type && declared.scale.size() == 1;
  // Without the values no quantile can be taken; the audit of parameters has judged those scales.
  const bool blind =
      context_.calibration == nullptr && context_.evidence.options.method == converters::Method::percentile;
  if (!fits_type || blind) {
    return declared;
  }
  const bool constant = context_.alignment->constants.contains(tensor);
  QuantParams granted = legal_.check(tensor, declared, constant) ? *own : declared;
  granted.unit = declared.unit;
  return granted;
}

const QuantParams* GrantedParams::audited(const std::string& tensor) const {
  const auto found = context_.audited.find(tensor);
  return found == context_.audited.end() ? nullptr : &found->second;
}

std::optional<CodeSpan> GrantedParams::assumed(const std::string& tensor) const {
  const QuantParams* own = audited(tensor);
  if (own == nullptr) {
    return std::nullopt;
  }
  const std::vector<QuantParams> given = legal_.given(tensor);
  const converters::Policy& policy = context_.evidence.converter.policy;
  std::optional<CodeSpan> span;
  const auto add = [&](const CodeSpan& one) { span = span ? span->joined(one) : one; };
  for (const QuantParams& params : given) {
    if (params.scale.size() == 1) {
      add(CodeSpan::of(params, policy));
    }
  }
  if (!legal_.is_given(tensor)) {
    std::vector<AllowedRange> ranges = legal_.of(tensor);
    std::ranges::copy(legal_.of_moved(tensor), std::back_inserter(ranges));
    for (const AllowedRange& range : ranges) {
      const bool symmetric =
          context_.evidence.options.symmetric && !takes_unsigned(policy, range.low.low, range.high.high);
      CodeSpan one = symmetric ? symmetric_span(range, own->type, policy) : asymmetric_span(range, own->type, policy);
      apply_policy(one, policy);
      one.level_error = level_error_of(one, policy);
      add(one);
    }
    // A range without extent: any scale does, and the audit's is the usual one.
    add(CodeSpan::of(*own, policy));
  }
  return span;
}

QuantParams GrantedParams::asked_layout(std::size_t original, const Tensor& weight, std::int64_t axis) const {
  const Node& node = context_.evidence.model->graph.nodes[original];
  const WeightForm form = weight_form(context_.evidence, original, node.op_type, weight.rank());
  QuantParams layout;
  layout.type = form.type;
  layout.scale_type = form.scale_type;
  if (axis < 0) return layout;
  layout.block = form.block;
  if (layout.block != 0)
    layout.axis = summed_axis(node.op_type, axis, weight.rank());
  else if (weight_policy_.per_axis(node.op_type))
    layout.axis = axis;
  return layout;
}

QuantParams GrantedParams::weight_params(std::size_t original, const Tensor& weight, std::int64_t axis,
                                         const QuantParams* declared, const Tensor* bias, double input_scale) const {
  return weight_params_of(&StoredScales::most, original, weight, axis, declared, bias, input_scale);
}

QuantParams GrantedParams::usual_weight_params(std::size_t original, const Tensor& weight, std::int64_t axis,
                                               const Tensor* bias, double input_scale) const {
  QuantParams params = weight_params_of(&StoredScales::usual, original, weight, axis, nullptr, bias, input_scale);
  if (context_.evidence.converter.policy.power_of_two || params.scale_type != DType::float32) return params;
  for (double& scale : params.scale) scale = static_cast<double>(static_cast<float>(scale / kScaleRounding));
  return params;
}

QuantParams GrantedParams::weight_params_of(Stored stored, std::size_t original, const Tensor& weight,
                                            std::int64_t axis, const QuantParams* declared, const Tensor* bias,
                                            double input_scale) const {
  const converters::Options& options = context_.evidence.options;
  const converters::Policy& policy = weight_policy_.of(original);
  QuantParams params = asked_layout(original, weight, axis);
  if (declared != nullptr) {
    const bool along_axis = declared->scale.size() > 1 && axis >= 0 && declared->axis == axis;
    params = {{}, {}, declared->type, {}, declared->block, declared->unit, declared->scale_type, declared->scale_step};
    if (along_axis || declared->block != 0) params.axis = declared->axis;
  }
  const ChannelIndex index = ChannelIndex::of_layout(weight.shape(), params);
  const std::size_t channels = index.extent();
  const bool is_asymmetric =
      declared != nullptr
          ? std::ranges::any_of(declared->zero_point, [&](std::int64_t z) { return !is_centre(z, declared->type); })
          : options.weights_only() && !options.symmetric;
  const std::span<const double> values = weight.reals();
  std::vector<double> low(channels, 0.0), high(channels, 0.0), sum(channels, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = index.channel(i);
    sum[channel] += std::fabs(values[i]);
    low[channel] = std::min(low[channel], values[i]);
    high[channel] = std::max(high[channel], values[i]);
  }
  weight_policy_.widen(low, high);
  // A declared scale may be what a search gave; without one the whole range's is the usual.
  const bool searched = declared != nullptr && options.method == converters::Method::mse;
  for (std::size_t c = 0; c < channels && searched && policy.search_beyond > 0; ++c) {
    const double beyond = beyond_of_search(low[c], high[c], policy);
    low[c] -= low[c] < 0 ? beyond : 0;
    high[c] += high[c] > 0 ? beyond : 0;
  }
  const core::IntegerLimits limits = core::integer_limits(params.type);
  const auto steps = static_cast<double>(limits.high - limits.low);
  params.scale.resize(channels);
  params.zero_point.assign(channels, centre_of(params.type));
  const double half_steps = symmetric_steps(params.type, policy);
  const auto audited_of = [&](std::size_t c) {
    return is_asymmetric ? (high[c] - low[c]) / steps : symmetric_scale(low[c], high[c], half_steps, policy);
  };
  if (declared == nullptr && params.scale_type != DType::float32 && params.scale_type != DType::float8e8m0) {
    double largest = 0;
    for (std::size_t c = 0; c < channels; ++c) largest = std::max(largest, audited_of(c));
    const auto last = static_cast<double>(core::integer_limits(params.scale_type).high);
    params.scale_step = {static_cast<double>(static_cast<float>(largest / last))};
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const double audited = audited_of(c);
    double raised = audited * kScaleRounding * (1 + 2 * params.unit);
    if (params.scale_type != DType::float32) {
      raised = stored_scales(params, audited, half_steps, c).*stored;
    }
    const bool matches = declared != nullptr && (declared->scale.size() == 1 || declared->scale.size() == channels);
    const double own = matches ? declared->scale[declared->scale.size() == 1 ? 0 : c] : 0;
    if (params.scale_type == DType::float32 && policy.power_of_two && raised > 0) {
      // Either neighbour may be taken. A factor that stays in the operator is in the declared scale, beside the power.
      int exponent = 0;
      const double factor = own == 0 ? 1 : 2 * std::frexp(std::fabs(own), &exponent);
      raised = factor * std::exp2(std::ceil(std::log2(raised / factor)));
    }
    const bool bias_in_steps = bias != nullptr && input_scale > 0 && !core::is_real(params.type);
    if (bias_in_steps) {
      // b must fit into int32 at scale s_x·s_w, in bytes beside the products: a correct converter raises s_w until it
      // does, at most to twice that (audit_weights.cpp).
      const DType x_type = options.weights_only() ? DType::int8 : options.activation;
      const core::IntegerLimits ends = core::integer_limits(x_type);
      const bool in_bytes = core::element_size_bits(x_type) <= 8 && core::element_size_bits(params.type) <= 8;
      const double products = in_bytes ? static_cast<double>(ends.high - ends.low) * sum[c] : 0;
      for (std::int64_t j = 0; j < bias->size(); ++j) {
        if (channels == 1 || bias->size() == 1 || static_cast<std::size_t>(j) % channels == c) {
          const double needed = (std::fabs(bias->as_real(j)) / input_scale + products) / kBiasCodes * kScaleRounding;
          raised = std::max(raised, matches ? 2 * needed : needed);
        }
      }
    }
    // Where the step is no normal number of float32, and no bias hangs on it, any positive scale is right.
    const bool denormal = audited > 0 && audited < static_cast<double>(std::numeric_limits<float>::min());
    if (matches && denormal && !bias_in_steps) raised = std::max(raised, 1.0);
    const bool given = options.method == converters::Method::given;
    params.scale[c] = !matches ? raised : given ? own : std::copysign(std::min(raised, std::fabs(own)), own);
    if (!matches && policy.signed_scales && options.symmetric && high[c] > -low[c]) params.scale[c] = -raised;
    if (is_asymmetric && declared == nullptr)
      params.zero_point[c] = derive_params(low[c], high[c], params.type, false, policy).zero_point.front();
  }
  if (declared != nullptr && declared->zero_point.size() == channels) params.zero_point = declared->zero_point;
  return params;
}

std::vector<double> GrantedParams::weight_radius(std::size_t original, const Tensor& weight, std::int64_t axis,
                                                 const QuantParams* declared, const Tensor* bias,
                                                 double input_scale) const {
  const QuantParams params = weight_params(original, weight, axis, declared, bias, input_scale);
  // Under the least scale the largest weights are cut off.
  const QuantParams least =
      declared != nullptr || params.scale_type == DType::float32
          ? params
          : weight_params_of(&StoredScales::least, original, weight, axis, declared, bias, input_scale);
  const ChannelIndex index = ChannelIndex::of_layout(weight.shape(), params);
  // A divisor above 127 lets the largest weights lie beyond the last code, and so may a scale that was rounded or
  // learned.
  const converters::Policy& policy = weight_policy_.of(original);
  const bool may_clip = policy.divisor > 127 || policy.power_of_two || params.scale_type != DType::float32 ||
                        context_.evidence.options.method == converters::Method::given;
  const auto last = static_cast<double>(core::integer_limits(params.type).high - centre_of(params.type));
  const std::span<const double> values = weight.reals();
  std::vector<double> radius(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scale = std::fabs(params.scale[index.channel(i)]);
    const double clip = may_clip ? std::fabs(values[i]) - last * std::fabs(least.scale[index.channel(i)]) : 0;
    // Zero has a code, so that the nearest one is no further away than that.
    const double nearest =
        std::min(scale > 0 ? scale * core::half_gap(values[i] / scale, params.type) : 0, std::fabs(values[i]));
    radius[i] = std::max(nearest + (0x1p-22 + 3 * params.unit) * std::fabs(values[i]), clip);
  }
  return radius;
}

}  // namespace assay::judge
