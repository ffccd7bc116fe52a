#include "harness/judge/numerics/input_rounding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/quantization/grounds.hpp"

// How a graph input was rounded, from outputs alone. Derived in docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using model::Node;

constexpr double kHalfStep = 0.5 * (1 + 0x1p-16);

/// Whether every element of the result is a function of the operand's element there, the same for all.
bool is_function_of_elements(const Node& node) {
  const OperatorTraits& traits = traits_of(node);
  switch (traits.enclosing) {
    case Enclosing::absolute:
    case Enclosing::bounded_function:
    case Enclosing::exponential_unit:
    case Enclosing::hard_sigmoid:
    case Enclosing::hard_swish:
    case Enclosing::log:
    case Enclosing::negation:
    case Enclosing::piecewise_linear:
    case Enclosing::root:
    case Enclosing::soft_turning:
    case Enclosing::unbounded_function:
      return !traits.weighted;  // a slope for each channel
    default:
      return traits.clamp != Clamp::none;
  }
}

class InputRounding {
 public:
  explicit InputRounding(const LayerContext& context) : context_(context) {}

  std::vector<Finding> run(Grounds& grounds) {
    if (!applies()) return {};
    const std::optional<std::vector<QuantParams>> all = legal_parameters();
    if (!all) return {};
    if (!is_reported() && may_stay_real(grounds.plan())) return {};
    for (const QuantParams& params : *all) {
      for (const Style& style : styles_for(context_.evidence.converter.policy)) {
        if (explains(params, style)) return {};
      }
    }
    return all->empty() || !worst_ ? std::vector<Finding>{} : std::vector<Finding>{*worst_};
  }

 private:
  /// One operator that takes each element for itself, in exact integers.
  bool applies() {
    const Evidence& evidence = context_.evidence;
    const model::Graph& graph = evidence.model->graph;
    if (context_.artifact != nullptr || evidence.converter.policy.arithmetic != converters::EngineArithmetic::integer)
      return false;
    if (graph.nodes.size() != 1 || graph.inputs.size() != 1 || context_.alignment->operations.size() != 1) return false;
    node_ = &graph.nodes.front();
    return is_function_of_elements(*node_) && node_->inputs.front() == graph.inputs.front().name &&
           !runs_in_float(evidence, *node_) && !context_.alignment->given.contains(node_->inputs.front());
  }

  [[nodiscard]] const converters::TensorScale* reported() const {
    const auto& tensors = context_.evidence.conversion.tensors;
    const auto found = std::ranges::find(tensors, node_->inputs.front(), &converters::TensorScale::name);
    return found == tensors.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool is_reported() const { return reported() != nullptr; }

  /// The parameters that the converter reports; else every legal one, up to the last places that a scale may be off.
  /// Nothing where they can't be listed.
  [[nodiscard]] std::optional<std::vector<QuantParams>> legal_parameters() const {
    if (core::is_real(context_.evidence.options.activation)) return std::nullopt;  // its codes aren't steps
    if (const converters::TensorScale* own = reported()) {
      if (own->params.scale.size() != 1) return std::nullopt;
      return std::vector<QuantParams>(1, own->params);
    }
    if (lists_scales(context_.evidence) || context_.calibration == nullptr) return std::nullopt;
    const converters::Options& options = context_.evidence.options;
    if (!options.calibrates()) return std::nullopt;
    const converters::Policy& policy = context_.evidence.converter.policy;
    const LegalRanges legal(context_, *context_.calibration);
    std::vector<AllowedRange> ranges = legal.of(node_->inputs.front());
    std::ranges::copy(legal.of_moved(node_->inputs.front()), std::back_inserter(ranges));
    std::vector<QuantParams> all;
    for (const AllowedRange& range : ranges) {
      const bool one = range.low.low == range.low.high && range.high.low == range.high.high;
      const bool plain = !policy.has_floor() && !policy.power_of_two && policy.zero == converters::ZeroRule::rounded;
      if (!one || !plain) return std::nullopt;
      const QuantParams exact =
          derive_params(range.low.low, range.high.high, options.activation, options.symmetric, policy);
      // Two last places of the scale's own roundings, and those that float32's error of an extreme moves it by.
      constexpr int kLastPlaces = 2, kMostPlaces = 64;
      const auto nearest = static_cast<float>(exact.scale.front());
      const auto place = static_cast<double>(std::nextafter(nearest, 2 * nearest) - nearest);
      const auto limits = core::integer_limits(exact.type);
      const double moved = 2 * range.slack / static_cast<double>(limits.high - limits.low) / place;
      if (!(moved < kMostPlaces)) return std::nullopt;
      const int places = kLastPlaces + static_cast<int>(std::ceil(moved));
      for (int i = -places; i <= places; ++i) {
        all.push_back(exact);
        all.back().scale.front() = static_cast<double>(static_cast<float>(exact.scale.front() + i * place));
      }
    }
    return all;
  }

  /// The outputs are those of an input that was never rounded, on the codes of the output or as they are.
  [[nodiscard]] bool may_stay_real(const QuantizationPlan& plan) const {
    double step = 0;
    for (const QuantizationPlan::Rounding& rounding : plan.roundings(node_->outputs.front())) {
      if (!rounding.span) return true;
      step = std::max(step, rounding.span->step);
    }
    for (std::size_t i = 0; i < context_.evidence.executions.size(); ++i) {
      const auto pair = values_of(i);
      if (!pair) continue;
      const auto expected = context_.reference[i]->find(node_->outputs.front());
      if (expected == context_.reference[i]->end()) return true;
      const auto want = expected->second.reals(), got = pair->second->reals();
      for (std::size_t k = 0; k < want.size(); ++k) {
        const double off = std::fabs(want[k] - got[k]);
        // What lies beyond the output's codes is as far off with a rounded input.
        if (off > step * kHalfStep && off < 2 * step) return false;
      }
    }
    return true;
  }

  /// Input and output of an execution.
  using Values = std::pair<const Tensor*, const Tensor*>;
  [[nodiscard]] std::optional<Values> values_of(std::size_t index) const {
    const Execution& execution = context_.evidence.executions[index];
    if (execution.reply.outcome != converters::Outcome::ok || context_.reference[index] == nullptr) return std::nullopt;
    const auto x = execution.inputs.find(node_->inputs.front());
    const auto y = execution.outputs.find(node_->outputs.front());
    const bool usable = x != execution.inputs.end() && y != execution.outputs.end() && x->second.is_real() &&
                        y->second.is_real() && x->second.shape() == y->second.shape();
    return usable ? std::optional(Values(&x->second, &y->second)) : std::nullopt;
  }

  /// Whether all elements with the same code, rounded as `style` does, give the same output.
  [[nodiscard]] bool explains(const QuantParams& params, const Style& style) {
    // Without zero_point and ends: both are functions of the rounded quotient too.
    const QuantParams open{params.scale, {0}, core::DType::int32, std::nullopt};
    std::map<std::int64_t, double> output_of;
    for (std::size_t i = 0; i < context_.evidence.executions.size(); ++i) {
      const auto pair = values_of(i);
      if (!pair) continue;
      const auto codes = quantize_enclosure(exact_enclosure({core::TensorPtr(), pair->first}), open, style, true);
      if (!codes) return true;
      const auto low = codes->low_or_centre().integers(), high = codes->high_or_centre().integers();
      const auto y = pair->second->reals();
      for (std::size_t k = 0; k < y.size(); ++k) {
        if (low[k] != high[k]) continue;
        const auto [known, is_new] = output_of.emplace(low[k], y[k]);
        if (is_new || known->second == y[k]) continue;
        if (!worst_) describe(i, k, pair->first->reals()[k], params.scale.front(), known->second, y[k]);
        return false;
      }
    }
    return true;
  }

  void describe(std::size_t execution, std::size_t element, double x, double scale, double other, double y) {
    Finding finding;
    finding.facet = Facet::integers;
    finding.layer = "L1";
    finding.node = node_->name;
    finding.op = node_->op_type;
    finding.tensor = node_->inputs.front();
    finding.data_set = context_.evidence.executions[execution].data_set;
    finding.message = fmt::format(
        "node \"{}\" ({}), graph input \"{}\", data set \"{}\": no rule of rounding explains the outputs\n  element {} "
        "is "
        "{:.9g}, {:.6f} steps of {:.9g}, and gives {:.9g}; others that round to the same quantized value give {:.9g}",
        node_->name, node_->op_type, finding.tensor, finding.data_set,
        index_text(static_cast<std::int64_t>(element), values_of(execution)->first->shape()), x, x / scale, scale, y,
        other);
    worst_ = std::move(finding);
  }

  const LayerContext& context_;
  const Node* node_ = nullptr;
  std::optional<Finding> worst_;  ///< under the first, simplest rule
};

}  // namespace

std::vector<Finding> check_input_rounding(const LayerContext& context, Grounds& grounds) {
  return InputRounding(context).run(grounds);
}

}  // namespace assay::judge
