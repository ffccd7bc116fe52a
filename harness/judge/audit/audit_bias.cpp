#include "harness/judge/audit/audit_bias.hpp"
#include "harness/judge/artifact/in_halves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/core/text.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/audited_params.hpp"
#include "harness/judge/audit/mean_correction.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

constexpr double kBiasScaleError = 0x1p-22;
constexpr std::size_t kShownBiases = 10;
/// Of a product's root mean square error: how much further off a correction may leave a channel's mean, since it was
/// found while other layers were not corrected yet. In 46 layers that NNCF 3.4.0 corrected one by one it was 0.17 at
/// most.
constexpr double kCorrectionNoise = 1.0 / 3;

class BiasAudit {
 public:
  BiasAudit(const LayerContext& context, const ArtifactNode& node, const EffectiveLinear& linear,
            const ProductErrors& errors)
      : context_(context),
        node_(node),
        linear_(linear),
        errors_(errors),
        original_(context.evidence.model->graph.nodes[*node.original]) {}

  std::vector<Finding> run() {
    const model::Node& made = context_.artifact->artifact().graph.nodes[node_.index];
    factor_ = beta_of(made);
    const Operand* bias = node_.inputs.size() > 2 && !node_.inputs[2].name.empty() ? &node_.inputs[2] : nullptr;
    if (bias != nullptr) unit_ = bias->unit;
    if (bias == nullptr) {
      check_absent();
    } else if (bias->quantized() && bias->constant_codes != nullptr) {
      check_quantized(*bias);
    } else if (bias->constant_values != nullptr && bias->constant_values->is_real()) {
      check_float(*bias->constant_values);
    }
    return std::move(findings_);
  }

 private:
  bool is(converters::BiasRounding rounding) const { return context_.evidence.converter.policy.bias == rounding; }

  void add(std::string message, double margin = 0) {
    Finding finding =
        audit_finding(Facet::bias, std::string(original_.input(2)),
                      fmt::format("node \"{}\" ({}), bias: {}", original_.name, original_.op_type, message), margin);
    finding.node = original_.name;
    finding.op = original_.op_type;
    findings_.push_back(std::move(finding));
  }

  /// s_x·s_w of output channel `c`; nothing where the input isn't quantized per tensor, or the weight in blocks or
  /// along another axis than its output channels': no sum has one scale then.
  std::optional<double> product_scale(std::size_t c) const {
    const Operand& x = node_.inputs[1 - linear_.operand];
    if (!node_.inputs[linear_.operand].quantized()) return std::nullopt;
    const core::QuantParams& w = *node_.inputs[linear_.operand].params;
    if (!x.quantized() || x.params->scale.size() != 1) return std::nullopt;
    if (w.block != 0 || (w.scale.size() > 1 && w.axis && *w.axis >= 0 && *w.axis != linear_.axis)) return std::nullopt;
    const std::size_t index = w.scale.size() == 1 ? 0 : linear_.scale_of(c);
    if (index >= w.scale.size()) return std::nullopt;
    return x.params->scale.front() * w.scale[index];
  }

  /// No bias at all: right only where the effective one rounds to nothing.
  void check_absent() {
    for (std::size_t c = 0; c < linear_.bias.size(); ++c) {
      const double limit = product_scale(c).value_or(0) / 2 + linear_.bias_slack[c];
      if (std::abs(linear_.bias[c]) <= limit) continue;
      add(fmt::format("expected {} for channel {}, but the artifact has none", core::exact_text64(linear_.bias[c]), c));
      return;
    }
  }

  void check_float(const core::Tensor& values) {
    const auto value = [&](std::size_t c) {
      return values.as_real(values.size() == 1 ? 0 : static_cast<std::int64_t>(c));
    };
    if (is(converters::BiasRounding::corrected)) {
      check_corrected(values.size(), value);
    } else {
      compare(linear_.bias, values.size(), value, [](std::size_t) { return 0.0; });
    }
  }

  /// The model brings codes of its own for the bias: their type and scale are its author's.
  [[nodiscard]] bool is_authored(const core::QuantParams& params) const {
    const model::Graph& graph = context_.evidence.model->graph;
    const auto producer = context_.alignment->wiring.producer(original_.input(2));
    if (!producer || graph.nodes[*producer].op_type != "DequantizeLinear") return false;
    const auto own = read_quant_params(graph.nodes[*producer], context_.alignment->constants);
    return own && own->scale == params.scale && own->type == params.type;
  }

  void check_quantized(const Operand& bias) {
    const core::QuantParams& params = *bias.params;
    const core::Tensor& codes = *bias.constant_codes;
    if (is_authored(params)) return;
    if (is(converters::BiasRounding::own_scale)) {
      check_own_scale(params, codes);
      return;
    }
    if (params.type != core::DType::int32) {
      add(fmt::format("expected int32 codes, actual {}", core::dtype_name(params.type)));
      return;
    }
    if (std::ranges::any_of(params.zero_point, [](std::int64_t z) { return z != 0; })) {
      add("expected zero_point 0");
      return;
    }
    const auto scale = [&](std::size_t c) {
      return params.scale[params.scale.size() == 1 ? 0 : std::min(c, params.scale.size() - 1)];
    };
    for (std::size_t c = 0; c < linear_.bias.size(); ++c) {
      const auto expected = product_scale(c);
      if (!expected) continue;
      // Below float32's least normal the spacing is absolute.
      const double unit = std::max(unit_, linear_.unit);
      const double limit = std::max(kBiasScaleError * *expected + half_error(unit, *expected), float32_ulp(*expected));
      if (std::abs(scale(c) - *expected) <= limit) continue;
      add(fmt::format("channel {}: expected scale s_x·s_w = {}, actual {}", c,
                      core::exact_text(static_cast<float>(*expected)), core::exact_text(static_cast<float>(scale(c)))));
      return;
    }
    const auto value = [&](std::size_t c) {
      return static_cast<double>(codes.integers()[codes.size() == 1 ? 0 : c]) * scale(c);
    };
    if (is(converters::BiasRounding::corrected)) {
      check_corrected(codes.size(), value);
    } else {
      compare(linear_.bias, codes.size(), value, scale);
    }
  }

  /// It is quantized as a weight with one scale is, whatever the sum's scale.
  void check_own_scale(const core::QuantParams& params, const core::Tensor& codes) {
    if (const core::DType type = context_.evidence.options.weight; params.type != type) {
      add(fmt::format("expected {} codes, actual {}", core::dtype_name(type), core::dtype_name(params.type)));
      return;
    }
    if (params.scale.size() != 1) {
      add(fmt::format("expected one scale of its own, actual {}", params.scale.size()));
      return;
    }
    AllowedRange allowed;
    for (std::size_t c = 0; c < linear_.bias.size(); ++c) {
      const double stored = factor_ == 0 ? 0 : linear_.bias[c] / factor_;
      const double low = std::min(allowed.low.low, stored), high = std::max(allowed.high.high, stored);
      allowed.low = {low, low};
      allowed.high = {high, high};
      allowed.slack = std::max(allowed.slack, factor_ == 0 ? 0 : linear_.bias_slack[c] / std::abs(factor_));
    }
    if (const auto fault = check_params(params, allowed, true, context_.evidence.converter.policy)) {
      add(fmt::format("expected {} {} of its own range {}, actual {}", facet_name(fault->facet), fault->expected,
                      range_text(allowed), fault->actual),
          fault->margin);
      return;
    }
    const double step = params.scale.front();
    auto limits = core::integer_limits(params.type);
    if (limits.low < -limits.high) limits.low = -limits.high;  // as many codes below zero as above
    std::vector<double> kept = linear_.bias;
    for (double& value : kept) {
      const auto [low, high] = std::minmax(
          {factor_ * step * static_cast<double>(limits.low), factor_ * step * static_cast<double>(limits.high)});
      value = std::clamp(value, low, high);
    }
    compare(
        kept, codes.size(),
        [&](std::size_t c) { return static_cast<double>(codes.integers()[codes.size() == 1 ? 0 : c]) * step; },
        [step](std::size_t) { return step; });
  }

  /// A correction that leaves a channel's mean further off than the model's own bias would, as the artifact runs and
  /// with its weights alone rounded, which is what NNCF's correction layer by layer looks at.
  template <typename Value>
  void check_corrected(std::int64_t size, Value value) {
    const auto& outputs = context_.artifact->artifact().graph.nodes[node_.index].outputs;
    const ProductErrors::Errors* errors = errors_.of(outputs.front());
    const ProductErrors::Errors* of_weights = errors_.of_weights(outputs.front());
    if (errors == nullptr || errors->mean.size() != linear_.bias.size()) return;
    if (size != 1 && size != static_cast<std::int64_t>(linear_.bias.size())) return;
    for (std::size_t c = 0; c < linear_.bias.size(); ++c) {
      const double moved = factor_ * value(c) - linear_.bias[c];
      const double margin = correction_margin(*errors, c, moved);
      if (margin <= 1 || (of_weights != nullptr && of_weights->mean.size() == linear_.bias.size() &&
                          correction_margin(*of_weights, c, moved) <= 1)) {
        continue;
      }
      add(fmt::format(
              "channel {}: it is corrected by {}, which leaves a mean error of {} on the calibration data, where "
              "the model's own bias leaves {}",
              c, core::exact_text(static_cast<float>(moved)), core::exact_text(static_cast<float>(errors->mean[c])),
              core::exact_text(static_cast<float>(errors->mean[c] - moved))),
          margin);
      return;
    }
  }

  /// The channel's mean error to the largest that a bias moved by so much may leave.
  [[nodiscard]] double correction_margin(const ProductErrors::Errors& errors, std::size_t channel, double moved) const {
    const double own = errors.mean[channel] - moved;
    const double limit = std::abs(own) + kCorrectionNoise * errors.rms + linear_.bias_slack[channel];
    const double left = std::abs(errors.mean[channel]);
    return left <= limit ? 0 : left / limit;
  }

  template <typename Value, typename Step>
  void compare(const std::vector<double>& wanted, std::int64_t size, Value value, Step step) {
    if (size != 1 && size != static_cast<std::int64_t>(wanted.size())) return;
    Differences wrong = differences(wanted, 0, value, step);
    if (!wrong.lines.empty() && is(converters::BiasRounding::mean_corrected)) {
      if (const auto correction = mean_correction(context_, node_, linear_.operand);
          correction && correction->shift.size() == linear_.bias.size()) {
        std::vector<double> corrected = linear_.bias;
        std::ranges::transform(corrected, correction->shift, corrected.begin(), std::plus());
        Differences moved = differences(corrected, correction->slack, value, step);
        if (moved.count < wrong.count) wrong = std::move(moved);
      }
    }
    if (wrong.lines.empty()) return;
    add(fmt::format("{} of {} channels differ{}", wrong.count, linear_.bias.size(), fmt::join(wrong.lines, "")),
        wrong.worst);
    findings_.back().portion = static_cast<double>(wrong.count) / static_cast<double>(linear_.bias.size());
  }

  struct Differences {
    std::vector<std::string> lines;
    std::size_t count = 0;
    double worst = 0;
  };

  template <typename Value, typename Step>
  Differences differences(const std::vector<double>& wanted, double slack, Value value, Step step) {
    Differences found;
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      const double expected = wanted[c], actual = factor_ * value(c);
      const double limit = std::abs(factor_) * step(c) / 2 + kBiasScaleError * std::abs(expected) +
                           half_error(unit_, expected) + linear_.bias_slack[c] + slack;
      const double distance = std::abs(actual - expected);
      if (context_.explanation != nullptr && context_.explanation->nears("bias", distance / limit)) {
        context_.explanation->note({"bias", fmt::format("{}[{}]", original_.input(2), c), core::exact_text64(expected),
                                    "|q_b·s_b − b| ≤ s_b ÷ 2 + 2⁻²²·|b|", core::exact_text64(expected),
                                    core::exact_text64(actual), distance, limit});
      }
      if (distance <= limit) continue;
      ++found.count;
      found.worst = std::max(found.worst, limit > 0 ? distance / limit : distance);
      if (found.lines.size() >= kShownBiases) continue;
      found.lines.push_back(fmt::format("\n  channel {}: expected {}, actual {} (limit {:.3g})", c,
                                        core::exact_text64(expected), core::exact_text64(actual), limit));
    }
    return found;
  }

  const LayerContext& context_;
  const ArtifactNode& node_;
  const EffectiveLinear& linear_;
  const ProductErrors& errors_;
  const model::Node& original_;
  double factor_ = 1;
  double unit_ = 0;  ///< roundoff of a bias of 16 bits
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_bias(const LayerContext& context, const ArtifactNode& node, const EffectiveLinear& linear,
                                const ProductErrors& errors) {
  return BiasAudit(context, node, linear, errors).run();
}

}  // namespace assay::judge
