#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "harness/core/text.hpp"
#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/audit/granted_params.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/integers/integer_check.hpp"
#include "harness/judge/integers/integer_compare.hpp"
#include "harness/judge/integers/integer_derivation.hpp"
#include "harness/judge/integers/integer_memo.hpp"

// L1: the artifact's own graph in exact arithmetic, an interval of admissible codes per element. What each style is
// granted is derived in docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
using model::Node;

/// One data set walked through the artifact under one style and compared with what the executor gave.
class Check {
 public:
  Check(const PreparedArtifact& artifact, const Execution& execution, const Style& style,
        const converters::Policy& policy, bool stop_at_first)
      : artifact_(artifact),
        execution_(execution),
        walk_(artifact, execution, style),
        policy_(policy),
        stop_at_first_(stop_at_first) {}

  /// Tensors that walk() knows after run(). Before run().
  void keep(const std::set<std::string>& tensors) { walk_.keep(tensors); }

  void run() {
    walk_.run([this](const std::string& tensor, std::size_t node, const Enclosure& expected, const Tensor& actual) {
      keep(compare_integers(expected, actual), tensor, node, true);
      return !stopped();
    });
    for (const model::ValueInfo& output : artifact_.graph().outputs) {
      const auto actual = execution_.outputs.find(output.name);
      const Enclosure* expected = walk_.find(output.name);
      if (actual == execution_.outputs.end() || expected == nullptr || stopped()) {
        continue;
      }
      const bool one_scale = expected->codes != nullptr && expected->codes->scale.size() == 1;
      const double level_error = one_scale ? CodeSpan::of(*expected->codes, policy_).level_error : 0;
      Comparison comparison = compare_integers(*expected, actual->second, level_error, artifact_.unit(output.name));
      if (comparison.misfit.empty()) {  // else another facet's finding
        keep(std::move(comparison), output.name, artifact_.wiring().producer(output.name).value_or(0), false);
      }
    }
  }

  [[nodiscard]] bool agrees() const {
    return std::all_of(comparisons_.begin(), comparisons_.end(), [](const Comparison& c) { return c.agrees(); });
  }
  [[nodiscard]] const std::vector<Comparison>& comparisons() const { return comparisons_; }
  [[nodiscard]] const ArtifactWalk& walk() const { return walk_; }

 private:
  [[nodiscard]] bool stopped() const { return stop_at_first_ && !agrees(); }

  void keep(Comparison comparison, const std::string& tensor, std::size_t node, bool traced) {
    comparison.tensor = tensor;
    comparison.node = node;
    comparison.traced = traced;
    comparisons_.push_back(std::move(comparison));
  }

  const PreparedArtifact& artifact_;
  const Execution& execution_;
  ArtifactWalk walk_;
  const converters::Policy& policy_;
  const bool stop_at_first_;
  std::vector<Comparison> comparisons_;
};

class IntegerCheck {
 public:
  IntegerCheck(const LayerContext& context, const PreparedArtifact* prepared, std::vector<Execution>& executions,
               Judgement& out)
      : context_(context), out_(out), prepared_(prepared) {
    for (Execution& execution : executions) {
      if (execution.reply.outcome == converters::Outcome::ok) {
        executions_.push_back(&execution);
      }
    }
  }

  IntegerFindings run() {
    std::vector<Finding> findings = check();
    return {std::move(findings), std::move(certain_codes_)};
  }

 private:
  std::vector<Finding> check() {
    if (prepared_ == nullptr || executions_.empty()) {
      return {};  // the audit of parameters reports what cannot be read
    }
    if (!context_.large) {  // where the values of all data sets are too much to keep
      quantized_ = context_.artifact->computed_codes();
    }
    const std::span<const Style> styles = styles_for(policy());
    if (context_.integers != nullptr) {
      if (const StyleResult* known = context_.integers->find(context_.evidence, executions_); known != nullptr) {
        return conclude(*known, styles.back());
      }
    }
    // The outputs alone settle most artifacts, at one plain run. Where they don't, the codes inside are asked for.
    const bool can_trace = asks_for_traces();
    // At depth `gate` what disagrees without a trace is red without one, so that every data set is looked at first.
    const Until until = can_trace && context_.depth != Depth::gate ? Until::open : Until::the_end;
    const StyleResult plain = explain(styles, can_trace ? kPlainStyles : styles.size(), until);
    if (!can_trace || (plain.agrees && !plain.open)) {
      keep(plain);
      return conclude(plain, styles.back());
    }
    if (context_.depth == Depth::gate && !plain.agrees) {
      if (const std::optional<Style> hull = style_hull(styles); hull && !try_style(*hull).agrees) {
        Finding finding;
        finding.stage = Stage::execute;
        finding.facet = Facet::integers;
        finding.layer = "L1";
        finding.message = "no style explains the outputs";
        return {std::move(finding)};
      }
    }
    // What disagrees without a trace disagrees with one, which only narrows what a node's inputs may have been.
    const std::span<const Style> rest = styles.subspan(plain.refuted);
    if (std::optional<Finding> refused = ask_for_traces()) {
      const bool settled = plain.agrees && until == Until::the_end;
      std::vector<Finding> findings = conclude(settled ? plain : explain(rest, rest.size()), styles.back());
      findings.push_back(std::move(*refused));
      return findings;
    }
    const StyleResult traced = explain(rest, rest.size());
    if (!traced.agrees) {
      if (auto contradiction = find_contradiction(styles)) {
        return {std::move(*contradiction)};
      }
    }
    keep(traced);
    return conclude(traced, styles.back());
  }

  [[nodiscard]] const converters::Policy& policy() const { return context_.evidence.converter.policy; }

  /// Half to even by either division of the inputs: what ONNX's text says.
  static constexpr std::size_t kPlainStyles = 2;

  [[nodiscard]] bool asks_for_traces() const {
    const auto& quantizers = context_.artifact->quantizers();
    return context_.evidence.ask_trace != nullptr &&
           std::any_of(quantizers.begin(), quantizers.end(), [](const Quantizer& q) { return !q.constant; });
  }

  /// Fills the traces of every execution. A finding where the converter didn't do again what it did before.
  std::optional<Finding> ask_for_traces() {
    for (Execution* execution : executions_) {
      Result<core::TensorMap> trace = context_.evidence.ask_trace(*execution);
      if (trace) {
        execution->trace = std::move(*trace);
        continue;
      }
      drop_traces();
      Finding finding;
      finding.stage = Stage::execute;
      finding.facet = Facet::determinism;
      finding.data_set = execution->data_set;
      finding.layer = "L1";
      finding.message = trace.error().message;
      return finding;
    }
    return std::nullopt;
  }

  void drop_traces() {
    for (Execution* execution : executions_) {
      execution->trace.clear();
    }
  }

  /// How far data sets are looked at.
  enum class Until {
    the_end,
    open,  ///< the first that holds uncertain codes: traces will be asked for
  };

  /// The first of `styles` that explains every element of every data set, or the last one tried of the first `tries`.
  StyleResult explain(std::span<const Style> styles, std::size_t tries, Until until = Until::the_end) {
    const auto inexact = [](const Style& style) { return style.arithmetic.float_unit > 0; };
    const auto exact = static_cast<std::size_t>(std::ranges::find_if(styles, inexact) - styles.begin());
    StyleResult explanation;
    std::size_t refuted = 0;
    while (refuted < tries) {
      explanation = try_style(styles[refuted], until);
      if (explanation.agrees) {
        break;
      }
      // Exact styles differ in ties and in the division of inputs. Mostly it is neither, and one walk refutes them all.
      const bool all = refuted == 0 && exact > 2 && !admits(*style_hull(styles.first(exact)), *explanation.against);
      refuted = all ? exact : refuted + 1;
    }
    explanation.refuted = refuted;
    return explanation;
  }

  [[nodiscard]] bool admits(const Style& style, const Execution& execution) const {
    Check check(*prepared_, execution, style, policy(), true);
    check.run();
    return check.agrees();
  }

  StyleResult try_style(const Style& style, Until until = Until::the_end) {
    StyleResult result;
    result.style = &style;
    for (const Execution* execution : executions_) {
      Check check(*prepared_, *execution, style, policy(), true);
      check.keep(quantized_);
      check.run();
      for (const Comparison& comparison : check.comparisons()) {
        result.compared += comparison.elements;
        result.ambiguous += comparison.ambiguous;
      }
      result.open = result.open || check.walk().uncertain() || !check.walk().note().empty();
      if (result.stopped_at.empty() && !check.walk().note().empty()) {
        result.stopped_at = check.walk().note();
        result.data_set = execution->data_set;
      }
      result.agrees = check.agrees();
      result.against = result.agrees ? nullptr : execution;
      if (!result.agrees || (result.open && until == Until::open)) {
        break;
      }
      if (!result.open) {
        result.codes.push_back(check.walk().codes_of(quantized_));
      }
    }
    return result;
  }

  void keep(const StyleResult& explanation) const {
    if (explanation.agrees && context_.integers != nullptr && !context_.large) {
      context_.integers->keep(context_.evidence, executions_, explanation);
    }
  }

  std::vector<Finding> conclude(const StyleResult& explanation, const Style& widest) {
    if (!explanation.stopped_at.empty() && (explanation.compared == 0 || !executions_.front()->trace.empty())) {
      out_.metrics.push_back({explanation.stopped_at, explanation.data_set, "l1_not_followed", 1});
    }
    if (!explanation.agrees) {
      out_.layers.emplace_back("L1");
      return report(widest);
    }
    if (!explanation.open) {
      note_codes(explanation);
    }
    if (explanation.compared > 0) {
      // Where every element may be several codes, agreement says nothing.
      if (explanation.ambiguous < explanation.compared || explanation.style->arithmetic.float_unit == 0) {
        out_.style = explanation.style->name;
        out_.layers.emplace_back("L1");
      }
      out_.metrics.push_back({"", "", "l1_elements", static_cast<double>(explanation.compared)});
      out_.metrics.push_back({"", "", "l1_ambiguous", static_cast<double>(explanation.ambiguous)});
      if (context_.explanation != nullptr) {
        context_.explanation->integers = derive_nearest_tie(context_, *prepared_, executions_, *explanation.style);
      }
    }
    return {};
  }

  void note_codes(const StyleResult& explanation) {
    const std::vector<Execution>& all = context_.evidence.executions;
    certain_codes_.resize(all.size());
    for (std::size_t i = 0; i < explanation.codes.size(); ++i) {
      certain_codes_[static_cast<std::size_t>(executions_[i] - all.data())] = explanation.codes[i];
    }
  }

  /// Where the outputs are what the artifact says and the codes that the engine claims to have had are not, the trace
  /// is wrong. Leaves the executions without their traces in that case.
  std::optional<Finding> find_contradiction(std::span<const Style> styles) {
    std::vector<Finding> wrong = report(styles.back());
    std::vector<core::TensorMap> traces;
    for (Execution* execution : executions_) {
      traces.push_back(std::exchange(execution->trace, {}));
    }
    // No style explains outputs that the widest doesn't.
    if (!wrong.empty() && try_style(styles.back()).agrees) {
      const StyleResult plain = explain(styles, styles.size());
      if (plain.agrees && !plain.open && plain.ambiguous == 0) {
        (void)conclude(plain, styles.back());
        Finding finding = std::move(wrong.front());
        finding.message = fmt::format(
            "the trace contradicts the outputs: style \"{}\" gives every output element from the inputs alone, but "
            "not the codes that the trace holds\n  {}",
            core::word_of(plain.style->name), finding.message);
        return finding;
      }
    }
    for (std::size_t i = 0; i < traces.size(); ++i) {
      executions_[i]->trace = std::move(traces[i]);
    }
    return std::nullopt;
  }

  /// The widest style's differences: nothing narrower can explain more.
  std::vector<Finding> report(const Style& style) {
    std::vector<Finding> findings;
    std::set<std::string> reported;
    for (const Execution* execution : executions_) {
      Check check(*prepared_, *execution, style, policy(), false);
      check.run();
      for (const Comparison& comparison : check.comparisons()) {
        if (!comparison.agrees() && reported.insert(comparison.tensor).second && findings.size() < Comparison::kShown) {
          if (context_.explanation != nullptr && findings.empty() && !comparison.shown.empty()) {
            context_.explanation->integers = derive_difference(context_, *prepared_, *execution, style, comparison);
          }
          findings.push_back(finding(*execution, comparison, style, findings.empty()));
        }
      }
      if (reported.size() >= Comparison::kShown) {
        break;
      }
    }
    return findings;
  }

  Finding finding(const Execution& execution, const Comparison& comparison, const Style& style, bool first) const {
    const Node& node = prepared_->graph().nodes[comparison.node];
    const Node& source = computing_node(node);
    Finding finding;
    finding.stage = Stage::execute;
    finding.facet = comparison.not_a_number ? Facet::nan : Facet::integers;
    finding.node = source.name;
    finding.op = source.op_type;
    finding.tensor = comparison.tensor;
    finding.data_set = execution.data_set;
    finding.layer = "L1";
    finding.margin = comparison.worst_steps;
    finding.message = fmt::format("node \"{}\" ({}), tensor \"{}\", data set \"{}\": ", source.name, source.op_type,
                                  comparison.tensor, execution.data_set);
    if (!comparison.misfit.empty()) {
      finding.message += "the trace holds another tensor: " + comparison.misfit;
      return finding;
    }
    finding.message += fmt::format(
        "{} of {} elements differ, largest difference in steps: {}\n"
        "  the artifact's own graph in exact arithmetic, with the rounding errors of style \"{}\" and every narrower "
        "style, admits other values",
        comparison.wrong, comparison.elements, core::exact_text(static_cast<float>(comparison.worst_steps)),
        core::word_of(style.name));
    for (const Difference& difference : comparison.shown) {
      finding.message += "\n  " + difference_text(comparison, difference);
    }
    if (comparison.traced) {
      finding.message +=
          first ? "\n  first wrong node, judged on its own actual inputs" : "\n  wrong on its own actual inputs too";
    } else if (!execution.trace.empty() && node.op_type == "DequantizeLinear" &&
               execution.trace.contains(node.inputs[0])) {
      finding.message += "\n  the trace contradicts this output: it is not its codes dequantized";
    } else if (execution.trace.empty() && follows_computed(source)) {
      finding.message += "\n  without a trace: this may be the consequence of a node before it";
    }
    return finding;
  }

  /// Whether `node` reads what another node computed, not only graph inputs and constants.
  [[nodiscard]] bool follows_computed(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [this](const std::string& name) {
      const auto producer = prepared_->wiring().producer(name);
      return producer && !prepared_->constants().contains(name) &&
             !model::is_quantizer(computing_node(prepared_->graph().nodes[*producer]));
    });
  }

  /// The operator whose result `node` quantizes or dequantizes; `node` itself where it computes.
  [[nodiscard]] const Node& computing_node(const Node& node) const {
    const Node* current = &node;
    while (model::is_quantizer(*current)) {
      const auto producer = prepared_->wiring().producer(current->input(0));
      if (!producer) {
        break;
      }
      current = &prepared_->graph().nodes[*producer];
    }
    return *current;
  }

  const LayerContext& context_;
  Judgement& out_;
  std::vector<Execution*> executions_;
  std::set<std::string> quantized_;   ///< codes to be noted
  const PreparedArtifact* prepared_;  ///< null where there is none
  CertainCodes certain_codes_;
};

}  // namespace

IntegerFindings check_integers(const LayerContext& context, const PreparedArtifact* prepared,
                               std::vector<Execution>& executions, Judgement& out) {
  return IntegerCheck(context, prepared, executions, out).run();
}

}  // namespace assay::judge
