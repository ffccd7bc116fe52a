#include "harness/judge/integers/integer_derivation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/float_format.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/integers/taps.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;
using Action = WalkStep::Action;

/// Codes that an executor is seen to have had: of its trace, or read back from an output that holds them dequantized.
struct SeenCodes {
  std::size_t maker = 0;  ///< the QuantizeLinear
  std::string name;
  TensorPtr actual;
};

TensorPtr codes_behind(const Tensor& values, const core::QuantParams& params) {
  if (!values.is_real()) return nullptr;
  auto codes = quantize_tensor(values, params);
  return codes ? std::make_shared<const Tensor>(*std::move(codes)) : nullptr;
}

bool is_coder(const WalkStep& step) { return step.action == Action::quantize; }

std::vector<SeenCodes> seen_codes(const PreparedArtifact& artifact, const Execution& execution) {
  std::vector<SeenCodes> seen;
  const model::Graph& graph = artifact.graph();
  const auto add = [&](const std::string& name, TensorPtr actual) {
    const auto maker = artifact.wiring().producer(name);
    if (actual != nullptr && maker && is_coder(artifact.steps()[*maker])) {
      seen.push_back({*maker, name, std::move(actual)});
    }
  };
  for (const auto& [name, tensor] : execution.trace) {
    add(name, std::make_shared<const Tensor>(tensor));
  }
  for (const model::ValueInfo& output : graph.outputs) {
    const auto maker = artifact.wiring().producer(output.name);
    const auto values = execution.outputs.find(output.name);
    if (!maker || values == execution.outputs.end()) continue;
    const WalkStep& step = artifact.steps()[*maker];
    if (step.action == Action::dequantize && !execution.trace.contains(graph.nodes[*maker].inputs[0])) {
      add(graph.nodes[*maker].inputs[0], codes_behind(values->second, step.params));
    }
  }
  return seen;
}

/// One walk under a style that keeps what the derivation of single elements needs.
class Derivation {
 public:
  Derivation(const LayerContext& context, const PreparedArtifact& artifact, const Execution& execution,
             const Style& style)
      : context_(context),
        artifact_(artifact),
        execution_(execution),
        style_(style),
        walk_(artifact, execution, style),
        seen_(seen_codes(artifact, execution)) {
    std::set<std::string> kept;
    for (std::size_t i = 0; i < artifact.steps().size(); ++i) {
      const Node& node = artifact.graph().nodes[i];
      if (is_coder(artifact.steps()[i])) {
        kept.insert(node.inputs.front());
        kept.insert(node.outputs.front());
      }
    }
    walk_.keep(std::move(kept));
    walk_.run([this](const std::string& tensor, std::size_t, const Enclosure& expected, const Tensor&) {
      expected_[tensor] = expected;
      return true;
    });
  }

  [[nodiscard]] const std::vector<SeenCodes>& seen() const { return seen_; }
  [[nodiscard]] const PreparedArtifact& artifact() const { return artifact_; }

  /// What is rounded to the codes that `maker` makes, in steps, before zero_point is added.
  [[nodiscard]] std::vector<double> quotients(std::size_t maker) const {
    const WalkStep& step = artifact_.steps()[maker];
    const Enclosure* value = walk_.find(artifact_.graph().nodes[maker].inputs.front());
    if (step.action != Action::quantize || value == nullptr || !value->centre->is_real()) {
      return {};
    }
    const auto index = ChannelIndex::make(value->centre->shape(), step.params);
    std::vector<double> quotients = value->centre->to_reals();
    for (std::size_t i = 0; index && i < quotients.size(); ++i) {
      quotients[i] /= step.params.scale[index->channel(i)];
    }
    return quotients;
  }

  [[nodiscard]] IntegerDerivation element(const SeenCodes& codes, std::int64_t flat) const {
    IntegerDerivation out = about(codes.maker, codes.name, flat, codes.actual->shape());
    out.actual = codes.actual->as_real(flat);
    const auto traced = expected_.find(codes.name);
    const Enclosure* expected = traced != expected_.end() ? &traced->second : walk_.find(codes.name);
    if (expected != nullptr && expected->centre->shape() == codes.actual->shape()) {
      out.low = expected->low_or_centre().as_real(flat);
      out.high = expected->high_or_centre().as_real(flat);
    }
    if (const std::vector<double> all = quotients(codes.maker); !all.empty()) {
      out.quotient = all[static_cast<std::size_t>(flat)];
    }
    add_sum(codes.maker, flat, out);
    return out;
  }

  /// An element that no codes stand behind.
  [[nodiscard]] IntegerDerivation element(const Comparison& comparison, const Difference& difference) const {
    IntegerDerivation out = about(comparison.node, comparison.tensor, difference.index, comparison.shape);
    out.low = difference.low;
    out.high = difference.high;
    out.actual = difference.actual;
    add_sum(comparison.node, difference.index, out);
    return out;
  }

 private:
  [[nodiscard]] IntegerDerivation about(std::size_t maker, const std::string& tensor, std::int64_t flat,
                                        const core::Shape& shape) const {
    IntegerDerivation out;
    const Node& node = artifact_.graph().nodes[computing_node(maker)];
    out.style = style_.name;
    out.node = node.name;
    out.op = node.op_type;
    out.tensor = tensor;
    out.index = index_text(flat, shape);
    out.data_set = execution_.data_set;
    return out;
  }

  /// The operator whose result node `index` brings to codes: through QuantizeLinear, DequantizeLinear, Relu and Clip.
  [[nodiscard]] std::size_t computing_node(std::size_t index) const {
    const auto passes = [](const Node& node) {
      return model::is_quantizer(node) || traits_of(node).clamp != Clamp::none;
    };
    while (passes(artifact_.graph().nodes[index])) {
      const auto producer = artifact_.wiring().producer(artifact_.graph().nodes[index].input(0));
      if (!producer) break;
      index = *producer;
    }
    return index;
  }

  void add_sum(std::size_t maker, std::int64_t flat, IntegerDerivation& out) const {
    const std::size_t index = computing_node(maker);
    const ArtifactNode* made = context_.artifact->find(index);
    if (made == nullptr || !sums_products(made->op) || made->inputs.size() < 2) return;
    const CodeLookup lookup = [this](const std::string& name) {
      const Enclosure* held = walk_.find(name);
      return held == nullptr ? nullptr : held->centre;
    };
    std::vector<TensorPtr> codes;
    for (const Operand& operand : made->inputs) {
      codes.push_back(operand.constant_codes != nullptr ? operand.constant_codes
                      : operand.codes.empty()           ? nullptr
                                                        : lookup(operand.codes));
    }
    if (codes[0] == nullptr || codes[1] == nullptr) return;
    Node node = artifact_.graph().nodes[index];
    model::set_operator(node, made->op);
    const core::Shape* bias = codes.size() > 2 && codes[2] != nullptr ? &codes[2]->shape() : nullptr;
    const auto sum = SumOfProducts::of(node, artifact_.opset(""), codes[0]->shape(), codes[1]->shape(), bias, flat);
    if (!sum) return;
    std::vector<Tap> taps = sum->taps(*codes[0], *codes[1]);
    out.accumulation = accumulate(node, *made, lookup, *sum, taps);
    if (!out.accumulation) return;
    for (Tap& tap : taps) {
      tap.x = static_cast<double>(*tap.x_code - out.accumulation->x_zero_point) * out.accumulation->x_scale;
      tap.w = static_cast<double>(*tap.w_code - out.accumulation->w_zero_point) * out.accumulation->w_scale;
    }
    out.taps = std::move(taps);
  }

  const LayerContext& context_;
  const PreparedArtifact& artifact_;
  const Execution& execution_;
  const Style& style_;
  ArtifactWalk walk_;
  std::map<std::string, Enclosure> expected_;
  std::vector<SeenCodes> seen_;
};

/// How far the nearest tie between two codes is, in steps.
double tie_distance(double quotient, core::DType type) {
  if (!core::is_real(type)) return std::fabs(quotient - std::floor(quotient) - 0.5);
  const double half = core::half_gap(quotient, type);
  return std::fabs(std::fabs(quotient - core::nearest_code(quotient, type)) - half) / (2 * half);
}

}  // namespace

std::optional<IntegerDerivation> derive_nearest_tie(const LayerContext& context, const PreparedArtifact& artifact,
                                                    const std::vector<Execution*>& executions, const Style& style) {
  std::optional<IntegerDerivation> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const Execution* execution : executions) {
    const Derivation derivation(context, artifact, *execution, style);
    const SeenCodes* nearest_codes = nullptr;
    std::size_t nearest_index = 0;
    for (const SeenCodes& codes : derivation.seen()) {
      if (artifact.graph().find_input(artifact.graph().nodes[codes.maker].inputs.front()) != nullptr) continue;
      const std::vector<double> quotients = derivation.quotients(codes.maker);
      const auto limits = core::integer_limits(codes.actual->type());
      for (std::size_t i = 0; i < quotients.size(); ++i) {
        const double code = codes.actual->as_real(static_cast<std::int64_t>(i));
        const double distance = tie_distance(quotients[i], codes.actual->type());
        const bool inside = code > static_cast<double>(limits.low) && code < static_cast<double>(limits.high);
        if (distance < least && inside) {
          least = distance;
          nearest_codes = &codes;
          nearest_index = i;
        }
      }
    }
    if (nearest_codes != nullptr) {
      nearest = derivation.element(*nearest_codes, static_cast<std::int64_t>(nearest_index));
    }
    if (context.large) break;
  }
  return nearest;
}

IntegerDerivation derive_difference(const LayerContext& context, const PreparedArtifact& artifact,
                                    const Execution& execution, const Style& style, const Comparison& comparison) {
  const Derivation derivation(context, artifact, execution, style);
  const auto worst = std::ranges::max_element(comparison.shown, {}, &Difference::steps);
  IntegerDerivation out;
  const auto seen = std::ranges::find_if(derivation.seen(), [&](const SeenCodes& codes) {
    const auto& readers = artifact.wiring().consumers(codes.name);
    return codes.name == comparison.tensor || std::ranges::find(readers, comparison.node) != readers.end();
  });
  out = seen != derivation.seen().end() && seen->actual->shape() == comparison.shape
            ? derivation.element(*seen, worst->index)
            : derivation.element(comparison, *worst);
  out.wrong = true;
  return out;
}

}  // namespace assay::judge
