#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/float_format.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/alignment/effective_linear.hpp"
#include "harness/judge/alignment/forward_error.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/audit_bias.hpp"
#include "harness/judge/audit/audit_reported.hpp"
#include "harness/judge/audit/range_cost.hpp"
#include "harness/judge/audit/weight_policy.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;

/// L0: relative error of w/s in float32; folding in float32 adds as much again.
constexpr double kQuotientError = 0x1p-22;
/// Roundings of a folded weight and of its scale.
constexpr double kFoldRoundings = 8;
constexpr auto kLeastNormal = static_cast<double>(std::numeric_limits<float>::min());
constexpr std::size_t kShownDifferences = 10;

class WeightAudit {
 public:
  WeightAudit(const LayerContext& context, Judgement& out)
      : context_(context), out_(out), policy_(context.evidence), errors_(context) {}

  std::vector<Finding> run() {
    for (const ArtifactNode& node : context_.artifact->nodes()) {
      const auto linear = effective_linear(context_, node);
      if (!linear) continue;
      if (!node.inputs[linear->operand].quantized()) {
        check_float(node, *linear);
        continue;
      }
      if (runs_in_float(node) && !context_.evidence.options.weights_only()) continue;
      check(node, *linear);
      std::ranges::move(audit_bias(context_, node, *linear, errors_), std::back_inserter(findings_));
      record_accumulator(node, *linear);
    }
    return std::move(findings_);
  }

 private:
  /// The converter says so itself: then its Q/DQ pairs are storage, and no integer kernel's rules apply.
  bool runs_in_float(const ArtifactNode& node) const {
    return node.original &&
           reported_in_float(context_.evidence, context_.evidence.model->graph.nodes[*node.original].name);
  }

  void add(const ArtifactNode& node, const EffectiveLinear& linear, Facet facet, std::string message,
           double margin = 0) {
    const model::Node& original = context_.evidence.model->graph.nodes[*node.original];
    const std::string tensor = weight_name(node, linear);
    Finding finding = audit_finding(
        facet, tensor,
        fmt::format("node \"{}\" ({}), weight \"{}\": {}", original.name, original.op_type, tensor, message), margin);
    finding.node = original.name;
    finding.op = original.op_type;
    findings_.push_back(std::move(finding));
  }

  [[nodiscard]] std::string weight_name(const ArtifactNode& node, const EffectiveLinear& linear) const {
    return std::string(context_.evidence.model->graph.nodes[*node.original].input(linear.operand));
  }

  /// What stays in float is the model's own, with what was folded into it.
  void check_float(const ArtifactNode& node, const EffectiveLinear& linear) {
    if (context_.evidence.converter.policy.weights == converters::WeightRounding::adapted) return;
    std::ranges::move(audit_bias(context_, node, linear, errors_), std::back_inserter(findings_));
    const std::vector<double> expected = linear.weight.to_reals();
    const std::vector<double> actual = node.inputs[linear.operand].constant_values->to_reals();
    const double relative = kQuotientError + (linear.folded ? linear.fold_error(kFoldRoundings) : 0);
    const double computed = computing_error(node, linear);
    std::vector<std::string> lines;
    std::size_t wrong = 0;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double distance = std::abs(actual[i] - expected[i]);
      const double limit = relative * std::abs(expected[i]) + computed + kLeastNormal +
                           half_error(node.inputs[linear.operand].unit, expected[i]);
      if (distance <= limit) continue;
      ++wrong;
      worst = std::max(worst, distance / limit);
      if (lines.size() >= kShownDifferences) continue;
      lines.push_back(fmt::format("\n  {}{}: expected {}, actual {}", weight_name(node, linear),
                                  index_text(static_cast<std::int64_t>(i), linear.weight.shape()),
                                  core::exact_text64(expected[i]), core::exact_text64(actual[i])));
    }
    if (wrong == 0) return;
    add(node, linear, Facet::weight,
        fmt::format("it stays in float, and {} of {} elements differ from the float model's{}", wrong, expected.size(),
                    fmt::join(lines, "")),
        worst);
  }

  void check(const ArtifactNode& node, const EffectiveLinear& linear) {
    const Operand& operand = node.inputs[linear.operand];
    const QuantParams& params = *operand.params;
    const bool negative = context_.evidence.converter.policy.signed_scales;
    const bool sane =
        std::ranges::all_of(params.scale, [&](double s) { return std::isfinite(s) && (s > 0 || (s < 0 && negative)); });
    if (!sane) return;  // the structure audit says it
    const auto& options = context_.evidence.options;
    const bool either = traits_of(node.op).product == Product::gemm &&
                        linear.operand == 0;  // a constant on the left is data as well as a weight
    const WeightForm form = weight_form(context_.evidence, node.original, node.op, linear.weight.rank());
    if (!linear.given && params.type != form.type && !(either && params.type == options.activation)) {
      add(node, linear, Facet::dtype,
          fmt::format("expected codes of type {}, actual {}", core::dtype_name(form.type),
                      core::dtype_name(params.type)));
    }
    if (!check_axis(node, linear, params)) return;
    const auto channels = ChannelIndex::make(linear.weight.shape(), params);
    if (!channels) {
      add(node, linear, Facet::count, channels.error().message);
      return;
    }
    if (context_.evidence.converter.policy.weights == converters::WeightRounding::adapted) return;
    check_scales(node, linear, params, *channels);
    check_codes(node, linear, params, *operand.constant_codes, *channels);
  }

  /// False where the declared layout makes the other checks meaningless.
  bool check_axis(const ArtifactNode& node, const EffectiveLinear& linear, const QuantParams& params) {
    const std::int64_t extent = linear.weight.shape()[static_cast<std::size_t>(linear.axis)];
    const auto count = static_cast<std::int64_t>(params.scale.size());
    const std::int64_t block = weight_form(context_.evidence, node.original, node.op, linear.weight.rank()).block;
    if ((block != 0 || params.block != 0) && !linear.given) return check_blocks(node, linear, params, block);
    if (count == 1) {
      // Only a matrix of one kind of columns must be per-axis: two activations or a left operand have no such rule.
      const bool asked = policy_.per_axis(node.op) && !linear.given && extent > 1 && linear.operand == 1 &&
                         (traits_of(node.op).product != Product::matmul || linear.weight.rank() == 2);
      if (asked)
        add(node, linear, Facet::count,
            fmt::format("expected {} scales along axis {}, actual one for all", extent, linear.axis));
      return true;
    }
    std::int64_t axis = params.axis.value_or(0);
    if (axis < 0) axis += linear.weight.rank();
    // A layout that the model itself gives is honoured by declaring it; whether it is also run that way, L1 tells.
    if (axis != linear.axis && linear.given && linear.given->axis == params.axis) return false;
    if (axis != linear.axis) {
      const std::string why = traits_of(node.op).product == Product::transposed_convolution && axis == 0
                                  ? "; axis 0 of this weight is the input channel, so no integer kernel with one scale "
                                    "per output can run it"
                                  : "";
      add(node, linear, Facet::axis,
          fmt::format("expected {} scales along axis {} (shape {}), actual {} along axis {}{}", extent, linear.axis,
                      core::shape_text(linear.weight.shape()), count, axis, why));
      return false;
    }
    if (!policy_.per_axis(node.op) && !linear.given) {
      add(node, linear, Facet::count, fmt::format("expected one scale (per-tensor options), actual {}", count));
    }
    return true;
  }

  /// Blocks lie along what is summed, and each has the length that is asked for.
  bool check_blocks(const ArtifactNode& node, const EffectiveLinear& linear, const QuantParams& params,
                    std::int64_t block) {
    const std::int64_t summed = summed_axis(node.op, linear.axis, linear.weight.rank());
    const QuantParams asked{{}, {}, params.type, summed, block};
    const bool one =
        params.scale.size() == 1 && block != 0 && ChannelIndex::of_layout(linear.weight.shape(), asked).extent() == 1;
    if (one || (params.block == block && params.axis == summed)) return true;
    const std::string actual = params.block == 0
                                   ? fmt::format("{} scales without blocks", params.scale.size())
                                   : fmt::format("blocks of {} along axis {}", params.block, params.axis.value_or(0));
    add(node, linear, params.block == block ? Facet::axis : Facet::count,
        block == 0 ? fmt::format("expected no blocks, actual {}", actual)
                   : fmt::format("expected blocks of {} along axis {} (shape {}), actual {}", block, summed,
                                 core::shape_text(linear.weight.shape()), actual));
    return false;
  }

  void check_scales(const ArtifactNode& node, const EffectiveLinear& linear, const QuantParams& params,
                    const ChannelIndex& channels) {
    const std::size_t count = params.scale.size();
    std::vector<double> low(count, 0), high(count, 0);
    const std::vector<double> weights = linear.weight.to_reals();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t c = channels.channel(i);
      low[c] = std::min(low[c], weights[i]);
      high[c] = std::max(high[c], weights[i]);
    }
    policy_.widen(low, high);
    std::vector<std::string> lines;
    std::size_t wrong = 0;
    double worst = 0;
    Facet facet = Facet::scale;
    std::vector<double> expected;
    const bool searched = context_.evidence.options.method == converters::Method::mse && !linear.given &&
                          policy_.of(*node.original).search_beyond > 0;
    const auto by_channel = searched ? sorted_channels(weights, channels, count) : std::vector<std::vector<double>>();
    for (std::size_t c = 0; c < count; ++c) {
      auto fault = scale_fault(node, linear, params, c, low[c], high[c], expected);
      if (!fault && searched)
        fault = no_search_ends_at(by_channel[c], params, c, low[c], high[c], policy_.of(*node.original));
      if (!fault) continue;
      if (wrong++ == 0) facet = fault->facet;
      worst = std::max(worst, fault->margin);
      if (lines.size() < kShownDifferences)
        lines.push_back(fmt::format("\n  channel {}: expected {}, actual {}", c, fault->expected, fault->actual));
    }
    if (expected.size() == count) explain(weight_name(node, linear), params, std::move(expected));
    if (wrong == 0) return;
    add(node, linear, facet,
        fmt::format("{} of {} {}s differ{}", wrong, count, facet_name(facet), fmt::join(lines, "")), worst);
  }

  /// Float32's error in a weight that the graph computes from constants.
  double computing_error(const ArtifactNode& node, const EffectiveLinear& linear) const {
    if (context_.ranges == nullptr) return 0;
    const auto range = context_.ranges->find(weight_name(node, linear));
    return range == context_.ranges->end() ? 0 : range->second.slack;
  }

  static std::vector<std::vector<double>> sorted_channels(const std::vector<double>& weights,
                                                          const ChannelIndex& channels, std::size_t count) {
    std::vector<std::vector<double>> values(count);
    for (std::size_t i = 0; i < weights.size(); ++i) values[channels.channel(i)].push_back(weights[i]);
    for (auto& each : values) std::ranges::sort(each);
    return values;
  }

  /// A search for the least error tries the whole range too, and ends where the error isn't larger; by its own
  /// estimate, hence the factor.
  static std::optional<ParamFault> no_search_ends_at(const std::vector<double>& values, const QuantParams& params,
                                                     std::size_t channel, double low, double high,
                                                     const converters::Policy& policy) {
    QuantParams own;
    own.type = params.type;
    own.scale = {params.scale[channel]};
    own.zero_point = {params.zero_point[channel]};
    if (values.empty() || core::is_real(params.type)) return std::nullopt;
    const QuantParams whole =
        derive_params(low, high, params.type, is_centre(own.zero_point.front(), params.type), policy);
    const SquaredError cost(values);
    const double of_whole = cost.of(whole), most = cost.most(of_whole), actual = cost.of(own);
    if (!(actual > most) || !(most > 0)) return std::nullopt;
    return ParamFault{
        Facet::scale,
        fmt::format("the whole range's {}, or a range with no larger error", core::exact_text64(whole.scale.front())),
        fmt::format("{} with zero_point {}, which makes {} times its squared error",
                    core::exact_text64(own.scale.front()), own.zero_point.front(),
                    core::exact_text64(actual / of_whole)),
        actual / most};
  }

  std::optional<ParamFault> scale_fault(const ArtifactNode& node, const EffectiveLinear& linear,
                                        const QuantParams& params, std::size_t channel, double low, double high,
                                        std::vector<double>& expected) const {
    if (context_.evidence.options.method == converters::Method::given) return std::nullopt;
    const converters::Policy& policy = policy_.of(*node.original);
    AllowedRange allowed;
    allowed.low = {low, low};
    allowed.high = {high, high};
    allowed.slack = computing_error(node, linear);
    if (linear.folded) allowed.slack += linear.fold_error(kFoldRoundings) * std::max(-low, high);
    allowed.slack += std::max(params.unit, 2 * linear.unit) * std::max(-low, high);
    if (context_.evidence.options.method == converters::Method::mse && policy.search_beyond > 0) {
      const double beyond = beyond_of_search(low, high, policy);
      allowed.low = {low < 0 ? low - beyond : 0, 0};
      allowed.high = {0, high > 0 ? high + beyond : 0};
    }
    QuantParams one;
    one.type = params.type;
    one.scale = {params.scale[channel]};
    one.zero_point = {params.zero_point[channel]};
    one.unit = params.unit;
    one.scale_type = params.scale_type;
    if (!params.scale_step.empty())
      one.scale_step = {params.scale_step[channel < params.scale_step.size() ? channel : 0]};
    const converters::Options& options = context_.evidence.options;
    const bool mirrored = high > -low;
    if (policy.signed_scales && options.symmetric && high != -low && mirrored != (one.scale.front() < 0)) {
      return ParamFault{Facet::scale, mirrored ? "a negative scale" : "a positive scale",
                        core::exact_text64(one.scale.front()), 0};
    }
    one.scale.front() = std::abs(one.scale.front());
    const auto limits = core::integer_limits(params.type);
    const bool symmetric = options.weights_only()
                               ? weight_form(context_.evidence, node.original, node.op, linear.weight.rank()).symmetric
                               : is_centre(one.zero_point.front(), params.type);
    if (symmetric && one.zero_point.front() != centre_of(params.type)) --allowed.unsigned_center;
    ScaleMargin margin;
    auto fault = check_params(one, allowed, symmetric, policy, context_.explanation == nullptr ? nullptr : &margin);
    // Asymmetric codes may have their zero in the middle by chance.
    const bool unsigned_codes = limits.low == 0;
    const bool asymmetric = unsigned_codes || std::ranges::any_of(params.zero_point, [](auto z) { return z != 0; });
    if (fault && symmetric && asymmetric && !options.weights_only() && !check_params(one, allowed, false, policy))
      fault.reset();
    const bool excused =
        fault && (is_given(linear, params, channel) || raised_for_bias(node, linear, channel, one.scale.front()));
    if (margin.only) expected.push_back(fault && !excused ? *margin.only : one.scale.front());
    if (excused) return std::nullopt;
    if (!margin.expected.empty()) {
      context_.explanation->note({"weight scale", fmt::format("{}, channel {}", weight_name(node, linear), channel),
                                  margin.range, "max|w| ÷ divisor, within 2 ulp of float32 (γ₈ more where folded)",
                                  margin.expected, margin.actual, margin.distance, margin.limit});
    }
    return fault;
  }

  /// What was expected of a weight, for who shows tensors: the declared parameters with these scales.
  void explain(const std::string& weight, QuantParams params, std::vector<double> scales) const {
    if (context_.explanation == nullptr) return;
    const auto found = std::ranges::find(context_.explanation->tensors, weight, &TensorParameters::tensor);
    if (found == context_.explanation->tensors.end()) return;
    params.scale = std::move(scales);
    found->expected = std::move(params);
  }

  /// The original's own scale, multiplied by what was folded into the channel: the codes then stay what they were.
  static bool is_given(const EffectiveLinear& linear, const QuantParams& params, std::size_t channel) {
    if (!linear.given) return false;
    if (linear.folded) return true;  // the codes' own check remains
    const std::vector<double>& scales = linear.given->scale;
    const double scale = scales.size() == 1 ? scales.front() : channel < scales.size() ? scales[channel] : 0;
    return scale == params.scale[channel];
  }

  /// A bias beyond 2³¹ steps makes a correct converter raise the weight's scale until it fits, also that of another
  /// node which reads the same weight.
  bool raised_for_bias(const ArtifactNode& node, const EffectiveLinear& linear, std::size_t channel,
                       double scale) const {
    double needed = 0;
    for (const ArtifactNode& other : context_.artifact->nodes()) {
      if (&other == &node) {
        needed = std::max(needed, scale_for_bias(node, linear, channel));
      } else if (linear.operand < other.inputs.size() && sums_products(other.op) &&
                 other.inputs[linear.operand].codes == node.inputs[linear.operand].codes) {
        const auto shared = effective_linear(context_, other);
        if (shared && shared->operand == linear.operand)
          needed = std::max(needed, scale_for_bias(other, *shared, channel));
      }
    }
    return is_raised_for_bias(scale, needed);
  }

  /// The least scale of this channel under which the node's bias fits into 32 bits.
  double scale_for_bias(const ArtifactNode& node, const EffectiveLinear& linear, std::size_t channel) const {
    const Operand& x = node.inputs[1 - linear.operand];
    const double factor = std::abs(beta_of(context_.artifact->artifact().graph.nodes[node.index]));
    if (!x.quantized() || x.params->scale.size() != 1 || !(factor > 0)) return 0;
    double needed = 0;
    for (std::size_t c = 0; c < linear.bias.size(); ++c) {
      if (node.inputs[linear.operand].params->scale.size() > 1 && linear.scale_of(c) != channel) continue;
      needed = std::max(needed, std::abs(linear.bias[c]) / (factor * 0x1p31 * x.params->scale.front()));
    }
    return needed;
  }

  void check_codes(const ArtifactNode& node, const EffectiveLinear& linear, const QuantParams& params,
                   const core::Tensor& codes, const ChannelIndex& channels) {
    if (!core::is_code_type(codes.type()) || codes.shape() != linear.weight.shape()) return;
    const auto limits = core::integer_limits(params.type);
    // Where a power of two leaves values beyond the codes, these may end at the least or as far below zero as above.
    const double even = context_.evidence.converter.policy.power_of_two && params.type == core::DType::int8 ? 1 : 0;
    const std::vector<double> actual = codes.to_reals();
    const std::vector<double> weights = linear.weight.to_reals();
    const double quotient_error = linear.folded ? 2 * kQuotientError : kQuotientError;
    const double folding_error = linear.folded ? kFoldRoundings * linear.unit : 0;
    // The zero point of codes without sign may be added in float32 before rounding.
    constexpr double kZero = 128;
    const double computed = computing_error(node, linear);
    std::vector<std::string> lines;
    std::size_t wrong = 0;
    double worst = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t c = channels.channel(i);
      const auto z = static_cast<double>(params.zero_point[c]);
      const double exact = weights[i] / params.scale[c];
      const double clamped =
          std::clamp(exact, static_cast<double>(limits.low) - z, static_cast<double>(limits.high) - z);
      const double code = actual[i] - z;
      const double half = core::half_gap(clamped, params.type);
      const double end = static_cast<double>(limits.low) + even - z;
      const double distance = exact < end && code == end ? 0 : std::abs(code - clamped);
      const double limit = half + quotient_error * (std::abs(exact) + kZero) + folding_error * std::abs(exact) +
                           (computed + half_error(params.unit, weights[i])) / std::abs(params.scale[c]);
      if (context_.explanation != nullptr && context_.explanation->nears("weight code", distance / limit)) {
        const std::string at = index_text(static_cast<std::int64_t>(i), linear.weight.shape());
        context_.explanation->note({"weight code", weight_name(node, linear) + at,
                                    fmt::format("{} ÷ {} = {:.6g}", core::exact_text64(weights[i]),
                                                core::exact_text(static_cast<float>(params.scale[c])), exact),
                                    "|q − z − clamp(w ÷ s)| ≤ ½ + 2⁻²²·(|w ÷ s| + 128)",
                                    fmt::format("{:.6g}", clamped + z), fmt::format("{}", actual[i]), distance, limit});
      }
      if (distance <= limit) continue;
      ++wrong;
      worst = std::max(worst, distance / (2 * half));
      if (lines.size() >= kShownDifferences) continue;
      lines.push_back(fmt::format("\n  w{}: expected {} ({} / {}), actual {}",
                                  index_text(static_cast<std::int64_t>(i), linear.weight.shape()),
                                  core::nearest_code(clamped + z, params.type), core::exact_text64(weights[i]),
                                  core::exact_text(static_cast<float>(params.scale[c])), actual[i]));
    }
    if (wrong == 0) return;
    add(node, linear, Facet::weight,
        fmt::format("{} of {} codes aren't the nearest, largest difference in steps: {:.3g}{}", wrong, weights.size(),
                    worst, fmt::join(lines, "")),
        worst / 0.5);
  }

  /// log2 of the largest accumulator that any input can produce: recorded, gates nothing.
  void record_accumulator(const ArtifactNode& node, const EffectiveLinear& linear) {
    const Operand& x = node.inputs[1 - linear.operand];
    const Operand& w = node.inputs[linear.operand];
    if (!x.quantized() || x.params->zero_point.size() != 1 || w.constant_codes->is_real() || linear.operand != 1)
      return;
    const auto limits = core::integer_limits(x.params->type);
    const std::int64_t z = x.params->zero_point.front();
    const auto reach = static_cast<double>(std::max(limits.high - z, z - limits.low));
    QuantParams layout;
    const auto extent = static_cast<std::size_t>(linear.weight.shape()[static_cast<std::size_t>(linear.axis)]);
    layout.scale.assign(extent, 1);
    if (extent > 1) layout.axis = linear.axis;
    const auto outputs = ChannelIndex::make(linear.weight.shape(), layout);
    const auto scales = ChannelIndex::make(linear.weight.shape(), *w.params);
    if (!outputs || !scales) return;
    std::vector<double> sums(std::max<std::size_t>(extent, 1), 0);
    const auto codes = w.constant_codes->integers();
    for (std::size_t i = 0; i < codes.size(); ++i) {
      sums[outputs->channel(i)] += std::abs(static_cast<double>(codes[i] - w.params->zero_point[scales->channel(i)]));
    }
    const double worst = *std::ranges::max_element(sums) * reach;
    const std::string& output = context_.evidence.model->graph.nodes[*node.original].outputs.front();
    if (worst > 0) out_.metrics.push_back({output, "", "accumulator_bits", std::log2(worst)});
  }

  const LayerContext& context_;
  Judgement& out_;
  WeightPolicy policy_;
  ProductErrors errors_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_weights(const LayerContext& context, Judgement& out) {
  return context.artifact == nullptr ? audit_reported_weights(context) : WeightAudit(context, out).run();
}

}  // namespace assay::judge
