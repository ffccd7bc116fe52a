#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "harness/core/float_format.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/artifact/node_matching.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/mean_correction.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/operators.hpp"

// Constants that are not the weights and biases of sums: a BatchNormalization's, an addend, a factor, an exponent.
namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// Relative error of a constant that a converter computes in float32 from others, or stores in float32.
constexpr double kConstantError = 0x1p-20;

struct Difference {
  std::size_t element = 0, count = 0;
  double expected = 0, actual = 0, margin = 0;
};

/// The nearest value to `value` that lies between the least and the largest quantized one.
double representable(double value, const core::QuantParams& params, std::size_t channel) {
  const auto limits = core::integer_limits(params.type);
  const double scale = params.scale[channel];
  const auto zero = static_cast<double>(params.zero_point[channel]);
  // A list: a pair made of two temporaries would hold references to them.
  const auto [low, high] = std::minmax(
      {(static_cast<double>(limits.low) - zero) * scale, (static_cast<double>(limits.high) - zero) * scale});
  return std::clamp(value, low, high);
}

/// The elements of `actual` that are further from `expected` than half their step and float32's error.
///
/// `bounds`  parameters of what the constant is a bound of, which is rounded and clamped to them whatever it is; or
/// null
std::optional<Difference> compare(const Tensor& expected, const Tensor& actual, const Operand& operand,
                                  const core::QuantParams* bounds = nullptr) {
  std::optional<ChannelIndex> channels;
  if (operand.quantized()) {
    auto made = ChannelIndex::make(actual.shape(), *operand.params);
    if (!made) return std::nullopt;
    channels = *made;
  }
  std::optional<Difference> worst;
  for (std::size_t i = 0; i < expected.reals().size(); ++i) {
    double want = expected.reals()[i], got = actual.reals()[i], step = 0;
    if (bounds != nullptr) {
      step = bounds->scale.front();
      want = representable(want, *bounds, 0);
      got = representable(got, *bounds, 0);
    }
    double low = want, high = want;
    if (channels) {
      const std::size_t c = channels->channel(i);
      step = std::fabs(operand.params->scale[c]);
      // Beyond the last quantized value there is none that is nearer; but a constant's range is known, and no more than
      // one code of it is given up where codes lie around zero.
      const double clamped = representable(want, *operand.params, c);
      if (std::fabs(clamped - want) <= step * (1 + kConstantError)) low = high = clamped;
    }
    if (got == low || got == high) continue;  // infinities have no distance
    // What stands for an infinity is far out on its side, as the least number of a format is for a mask.
    constexpr double kFarOut = 1e4;
    const bool infinite = std::isinf(want);
    if (infinite && std::signbit(got) == std::signbit(want) && std::fabs(got) >= kFarOut) continue;
    const double distance = got < low ? low - got : got - high;
    if (channels && step > 0) step *= 2 * core::half_gap(low / step, operand.params->type);
    const double limit = step / 2 + kConstantError * std::fabs(want) + 0x1p-126 + half_error(operand.unit, want);
    if (!infinite && !(distance > limit) && !std::isnan(distance)) continue;
    const double margin = infinite ? kFarOut : distance / limit;
    const std::size_t count = worst ? worst->count : 0;
    if (!worst || margin > worst->margin) worst = Difference{i, 0, want, got, margin};
    worst->count = count + 1;
  }
  return worst;
}

class ConstantAudit {
 public:
  explicit ConstantAudit(const LayerContext& context)
      : context_(context),
        original_(context.evidence.model->graph),
        constants_(constants_of(original_)),
        varying_(varying_tensors(original_)) {}

  std::vector<Finding> run() {
    for (const ArtifactNode& made : context_.artifact->nodes()) {
      if (made.original) {
        check(made, original_.nodes[*made.original]);
      } else {
        check_kept(made);
      }
    }
    return std::move(findings_);
  }

 private:
  /// An operator of the converter's own, such as a function's that it wrote out, reads a constant of the model by its
  /// name: nobody has computed it anew.
  void check_kept(const ArtifactNode& made) {
    for (const Operand& input : made.inputs) {
      const Tensor* own = original_.initializer(input.name);
      if (own == nullptr || input.quantized() || input.constant_values == nullptr) continue;
      if (!own->is_real() || own->shape() != input.constant_values->shape()) continue;
      const auto worst = compare(*own, *input.constant_values, input);
      if (!worst) continue;
      add(context_.artifact->artifact().graph.nodes[made.index], input.name, *own, *worst, "");
    }
  }

  void check(const ArtifactNode& made, const Node& node) {
    const Node& theirs = context_.artifact->artifact().graph.nodes[made.index];
    if (model::operator_name(node) != model::operator_name(theirs) || sums_products(node))
      return;  // other audits know those
    const std::vector<std::size_t> slots = slots_of(node, made);
    for (std::size_t i = 0; i < made.inputs.size(); ++i) {
      const TensorPtr actual = constant_value(made.inputs[i]);
      const TensorPtr expected = actual == nullptr ? nullptr : find_constant(constants_, node.input(slots[i]));
      if (expected != nullptr && comparable(*expected, *actual)) {
        compare_operand(node, slots[i], made, made.inputs[i], *expected, *actual);
      }
    }
  }

  static bool comparable(const Tensor& expected, const Tensor& actual) {
    return expected.is_real() && actual.is_real() && expected.shape() == actual.shape();
  }

  /// Which input of the model's node each of the artifact's stands for. Where they may change places, each constant is
  /// one of the model's that it equals, and what equals none is one that is left, else one that the converter may have
  /// computed, else the first.
  std::vector<std::size_t> slots_of(const Node& node, const ArtifactNode& made) const {
    std::vector<std::size_t> slots(made.inputs.size());
    std::iota(slots.begin(), slots.end(), 0);
    if (!commutes(node)) return slots;
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (find_constant(constants_, node.inputs[i]) != nullptr) left.push_back(i);
    }
    if (left.empty()) return slots;
    const std::size_t first = left.front();
    std::vector<std::size_t> unsettled;
    for (std::size_t i = 0; i < made.inputs.size(); ++i) {
      const TensorPtr actual = constant_value(made.inputs[i]);
      if (actual == nullptr) continue;
      const auto equal = std::ranges::find_if(left, [&](std::size_t slot) {
        const TensorPtr expected = find_constant(constants_, node.inputs[slot]);
        return comparable(*expected, *actual) && !compare(*expected, *actual, made.inputs[i]);
      });
      if (equal == left.end()) {
        unsettled.push_back(i);
      } else {
        slots[i] = *equal;
        left.erase(equal);
      }
    }
    const auto computed = std::ranges::find_if(node.inputs, [&](const std::string& input) {
      return !input.empty() && !varying_.contains(input) && find_constant(constants_, input) == nullptr;
    });
    const bool any = computed != node.inputs.end();
    const std::size_t other = any ? static_cast<std::size_t>(computed - node.inputs.begin()) : first;
    for (const std::size_t i : unsettled) {
      slots[i] = left.empty() ? other : left.front();
      if (!left.empty()) left.erase(left.begin());
    }
    return slots;
  }

  void compare_operand(const Node& node, std::size_t slot, const ArtifactNode& made, const Operand& operand,
                       const Tensor& expected, const Tensor& actual) {
    const bool is_bias = slot == kBias && operand.quantized() && operand.params->type == core::DType::int32;
    if (is_bias) return;  // audit_normalizations
    const auto worst = compare(expected, actual, operand, bounded_by(node, slot, made));
    if (!worst) return;
    const std::size_t wrong = std::min(worst->count, wrong_beside_correction(node, slot, expected, actual));
    if (wrong == 0) return;
    const std::string name(node.input(slot));
    Finding& finding =
        add(node, name, expected, *worst, " by more than half a step",
            operand.quantized()
                ? fmt::format(" (scale {})", core::exact_text(static_cast<float>(operand.params->scale.front())))
                : "");
    finding.portion = static_cast<double>(wrong) / static_cast<double>(expected.size());
  }

  /// `node` reads another constant than the model's; `beyond` and `scale` say what the difference is measured with.
  Finding& add(const Node& node, const std::string& name, const Tensor& expected, const Difference& worst,
               std::string_view beyond, const std::string& scale = "") {
    Finding finding = audit_finding(
        Facet::weight, name,
        fmt::format("node \"{}\" ({}), constant \"{}\": {} of {} elements differ from the float model's{}\n  {}{}: "
                    "expected {}, actual {}{}",
                    node.name, node.op_type, name, worst.count, expected.size(), beyond, name,
                    index_text(static_cast<std::int64_t>(worst.element), expected.shape()),
                    core::exact_text64(worst.expected), core::exact_text64(worst.actual), scale),
        worst.margin);
    finding.node = node.name;
    finding.op = node.op_type;
    return findings_.emplace_back(std::move(finding));
  }

  /// How many values of an Add's constant, which is a product's bias, aren't moved as the policy says; all of any other
  /// constant.
  std::size_t wrong_beside_correction(const Node& node, std::size_t slot, const Tensor& expected,
                                      const Tensor& actual) const {
    const auto index = static_cast<std::size_t>(&node - original_.nodes.data());
    const auto all = static_cast<std::size_t>(expected.size());
    if (!context_.evidence.converter.policy.corrects_biases() || context_.alignment->bias_behind_product(index) != slot)
      return all;
    if (context_.evidence.converter.policy.bias == converters::BiasRounding::corrected) return 0;
    const auto product = context_.alignment->wiring.producer(node.input(1 - slot));
    const ArtifactNode* made = product ? context_.alignment->made(*product) : nullptr;
    const auto correction = made == nullptr ? std::nullopt : mean_correction(context_, *made, 1);
    if (!correction) return all;
    const std::size_t channels = correction->shift.size();
    if (expected.shape().empty() || expected.shape().back() != static_cast<std::int64_t>(channels)) return all;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all; ++i) {
      const double want = expected.reals()[i] + correction->shift[i % channels];
      const double limit = kConstantError * std::fabs(want) + correction->slack;
      wrong += std::fabs(actual.reals()[i] - want) <= limit ? 0U : 1U;
    }
    return wrong;
  }

  /// What a Clip's bounds clamp to anyway: the parameters behind it, else those before it.
  static const core::QuantParams* bounded_by(const Node& node, std::size_t slot, const ArtifactNode& made) {
    if (traits_of(node).clamp == Clamp::none || slot == 0) return nullptr;
    const auto usable = [](const std::optional<core::QuantParams>& params) {
      return params && params->scale.size() == 1 && params->zero_point.size() == 1;
    };
    if (!made.outputs.empty() && usable(made.outputs.front())) return &*made.outputs.front();
    return usable(made.inputs.front().params) ? &*made.inputs.front().params : nullptr;
  }

  const LayerContext& context_;
  const model::Graph& original_;
  Constants constants_;
  std::set<std::string> varying_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_constants(const LayerContext& context) {
  const bool kept =
      context.artifact != nullptr && context.evidence.converter.policy.weights != converters::WeightRounding::adapted;
  return kept ? ConstantAudit(context).run() : std::vector<Finding>{};
}

}  // namespace assay::judge
