#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "harness/core/text.hpp"
#include "harness/judge/execution_style.hpp"
#include "harness/judge/layers.hpp"

// L1: the artifact's own graph in exact arithmetic, an interval of admissible codes per element. What each style is
// granted is derived in docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::QuantParams;
using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;

/// An element outside what the style admits.
struct Difference {
  std::int64_t index = 0;
  double low = 0, high = 0;  ///< admissible, in codes or in reals
  double actual = 0;
  double steps = 0;  ///< distance from the interval in steps; 0 where no scale is known
};

constexpr std::size_t kShown = 10;

/// What one compared tensor shows.
struct Comparison {
  std::string tensor;
  std::size_t node = 0;  ///< artifact node that made it
  bool codes = false;
  bool not_a_number = false;
  std::int64_t elements = 0, wrong = 0, ambiguous = 0;
  double worst_steps = 0;
  std::vector<Difference> shown;

  void add(const Difference& difference) {
    ++wrong;
    worst_steps = std::max(worst_steps, difference.steps);
    not_a_number = not_a_number || std::isnan(difference.actual);
    if (shown.size() < kShown) {
      shown.push_back(difference);
    }
  }
};

enum class Action { constant, quantize, dequantize, qoperator, plain };

/// One node of the artifact, ready to be walked many times.
struct Step {
  Action action = Action::plain;
  QuantParams params;                 ///< of quantize and dequantize
  const ArtifactNode* qop = nullptr;  ///< of qoperator
  Node float_node;                    ///< of qoperator: the operator it stands for
};

/// The artifact with everything that does not depend on the inputs computed once.
class PreparedArtifact {
 public:
  static Result<PreparedArtifact> make(const ArtifactView& view) {
    PreparedArtifact prepared(view);
    const model::Graph& graph = view.artifact().graph;
    const auto constants = constants_of(graph);
    for (const auto& [name, tensor] : graph.initializers) {
      prepared.constants_.emplace(name, exact_enclosure(tensor));
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      Result<Step> step = prepared.read(graph.nodes[i], i, constants);
      if (!step) {
        return step.error();
      }
      prepared.steps_.push_back(std::move(*step));
      prepared.fold(graph.nodes[i], prepared.steps_.back());
    }
    return prepared;
  }

  [[nodiscard]] const model::Graph& graph() const { return view_->artifact().graph; }
  [[nodiscard]] const model::Wiring& wiring() const { return wiring_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const std::unordered_map<std::string, Enclosure>& constants() const { return constants_; }
  [[nodiscard]] std::int64_t opset(const std::string& domain) const {
    const auto found = view_->artifact().opsets.find(domain);
    return found == view_->artifact().opsets.end() ? 1 : found->second;
  }

 private:
  explicit PreparedArtifact(const ArtifactView& view) : view_(&view), wiring_(view.artifact().graph) {}

  Result<Step> read(const Node& node, std::size_t index,
                    const std::map<std::string, TensorPtr, std::less<>>& constants) const {
    Step step;
    const ArtifactNode* entry = view_->find(index);
    if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") {
      step.action = node.op_type == "QuantizeLinear" ? Action::quantize : Action::dequantize;
      Result<QuantParams> params = read_quant_params(node, constants);
      if (!params) {
        return params.error();
      }
      step.params = std::move(*params);
    } else if (entry != nullptr && entry->qoperator) {
      step.action = Action::qoperator;
      step.qop = entry;
      step.float_node = node;
      step.float_node.op_type = entry->op;
      step.float_node.domain = "";
    }
    return step;
  }

  /// Computes nodes whose inputs are all constant: exactly, but for a QuantizeLinear's float32 division.
  void fold(const Node& node, Step& step) {
    static const Style kFolding{.name = "constant", .input = InputDivision::float32, .arithmetic = {}};
    std::vector<const Enclosure*> inputs;
    for (const std::string& name : node.inputs) {
      const auto found = constants_.find(name);
      if (!name.empty() && found == constants_.end()) {
        return;
      }
      inputs.push_back(name.empty() ? nullptr : &found->second);
    }
    if (node.outputs.empty() || step.action == Action::qoperator || !model::captured_names(node).empty()) {
      return;
    }
    if (step.action == Action::plain) {
      Result<std::vector<Enclosure>> values = enclose_node(node, opset(node.domain), inputs, Arithmetic{});
      if (!values) {
        return;
      }
      for (std::size_t i = 0; i < node.outputs.size() && i < values->size(); ++i) {
        constants_[node.outputs[i]] = std::move((*values)[i]);
      }
    } else {
      const Result<Enclosure> value = step.action == Action::quantize
                                          ? quantize_enclosure(*inputs[0], step.params, kFolding, true)
                                          : dequantize_enclosure(*inputs[0], step.params, kFolding);
      if (!value) {
        return;
      }
      constants_[node.outputs[0]] = *value;
    }
    step.action = Action::constant;
  }

  const ArtifactView* view_;
  model::Wiring wiring_;
  std::vector<Step> steps_;
  std::unordered_map<std::string, Enclosure> constants_;
};

/// One data set walked through the artifact under one style.
class Walk {
 public:
  Walk(const PreparedArtifact& artifact, const Execution& execution, const Style& style, bool stop_at_first)
      : artifact_(artifact), execution_(execution), style_(style), stop_at_first_(stop_at_first) {}

  void run() {
    const model::Graph& graph = artifact_.graph();
    for (const model::ValueInfo& input : graph.inputs) {
      const auto found = execution_.inputs.find(input.name);
      if (found != execution_.inputs.end()) {
        values_[input.name] = exact_enclosure({TensorPtr(), &found->second});
      }
    }
    for (std::size_t i = 0; i < graph.nodes.size() && !stopped(); ++i) {
      if (artifact_.steps()[i].action != Action::constant) {
        step(graph.nodes[i], artifact_.steps()[i], i);
      }
    }
    for (const model::ValueInfo& output : graph.outputs) {
      const auto actual = execution_.outputs.find(output.name);
      const Enclosure* expected = find(output.name);
      if (actual == execution_.outputs.end() || expected == nullptr || stopped()) {
        continue;
      }
      compare(output.name, artifact_.wiring().producer(output.name).value_or(0), *expected, actual->second);
    }
  }

  [[nodiscard]] bool agrees() const {
    return std::all_of(comparisons_.begin(), comparisons_.end(), [](const Comparison& c) { return c.wrong == 0; });
  }
  [[nodiscard]] const std::vector<Comparison>& comparisons() const { return comparisons_; }
  /// Why something downstream could not be followed; empty if everything was.
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  [[nodiscard]] bool stopped() const { return stop_at_first_ && !agrees(); }

  [[nodiscard]] const Enclosure* find(const std::string& name) const {
    const auto value = values_.find(name);
    if (value != values_.end()) {
      return &value->second;
    }
    const auto constant = artifact_.constants().find(name);
    return constant == artifact_.constants().end() ? nullptr : &constant->second;
  }

  void step(const Node& node, const Step& step, std::size_t index) {
    if (node.outputs.empty()) {
      return;
    }
    Result<std::vector<Enclosure>> outputs = evaluate(node, step);
    if (!outputs) {
      if (note_.empty() && !outputs.error().message.empty()) {
        note_ = fmt::format("node \"{}\" ({}): {}", node.name, node.op_type, outputs.error().message);
      }
      outputs = std::vector<Enclosure>{};
    }
    for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
      values_[node.outputs[i]] = std::move((*outputs)[i]);
    }
    if (step.action == Action::quantize || step.action == Action::qoperator) {
      follow_trace(node, index);
    }
  }

  /// Compares the codes that the engine says it had here, and goes on with them: every node is judged on its own
  /// actual inputs.
  void follow_trace(const Node& node, std::size_t index) {
    const std::string& name = node.outputs.front();
    const auto traced = execution_.trace.find(name);
    if (traced == execution_.trace.end() || traced->second.is_real()) {
      return;
    }
    if (const Enclosure* expected = find(name); expected != nullptr) {
      compare(name, index, *expected, traced->second);
    }
    values_[name] = exact_enclosure({TensorPtr(), &traced->second});
  }

  Result<std::vector<Enclosure>> evaluate(const Node& node, const Step& step) {
    std::vector<Enclosure> storage;
    std::vector<const Enclosure*> inputs;
    storage.reserve(node.inputs.size());
    if (step.action == Action::qoperator) {
      return evaluate_qoperator(step);
    }
    for (const std::string& name : node.inputs) {
      const Enclosure* value = name.empty() ? nullptr : find(name);
      if (!name.empty() && value == nullptr) {
        return core::Error{};  // something before it stopped, and has said why
      }
      if (value != nullptr && value->codes != nullptr && value->relative != style_.dequantize_error &&
          value->is_point()) {
        storage.push_back(*value);  // a constant dequantized without error when it was prepared
        storage.back().relative = style_.dequantize_error;
        value = &storage.back();
      }
      inputs.push_back(value);
    }
    if (step.action == Action::quantize || step.action == Action::dequantize) {
      const bool is_input = artifact_.graph().find_input(node.inputs[0]) != nullptr;
      Result<Enclosure> value = step.action == Action::quantize
                                    ? quantize_enclosure(*inputs[0], step.params, style_, is_input)
                                    : dequantize_enclosure(*inputs[0], step.params, style_);
      if (!value) {
        return value.error();
      }
      return std::vector<Enclosure>{std::move(*value)};
    }
    if (!model::captured_names(node).empty()) {
      return core::Error{.kind = core::ErrorKind::unsupported,
                         .message = "its subgraphs are not followed",
                         .node = node.name,
                         .op = node.op_type,
                         .tensor = {}};
    }
    return enclose_node(node, artifact_.opset(node.domain), inputs, style_.arithmetic);
  }

  Result<std::vector<Enclosure>> evaluate_qoperator(const Step& step) {
    std::vector<Enclosure> values;
    values.reserve(step.qop->inputs.size());
    std::vector<const Enclosure*> inputs;
    for (const Operand& operand : step.qop->inputs) {
      if (operand.codes.empty() || !operand.params) {
        inputs.push_back(nullptr);
        continue;
      }
      const Enclosure* codes = find(operand.codes);
      if (codes == nullptr) {
        return core::Error{};
      }
      Result<Enclosure> value = dequantize_enclosure(*codes, *operand.params, style_);
      if (!value) {
        return value.error();
      }
      values.push_back(std::move(*value));
      inputs.push_back(&values.back());
    }
    const Result<std::vector<Enclosure>> real =
        enclose_node(step.float_node, artifact_.opset(""), inputs, style_.arithmetic);
    if (!real) {
      return real.error();
    }
    Result<Enclosure> quantized = quantize_enclosure(real->front(), *step.qop->outputs.front(), style_, false);
    if (!quantized) {
      return quantized.error();
    }
    return std::vector<Enclosure>{std::move(*quantized)};
  }

  void compare(const std::string& tensor, std::size_t node, const Enclosure& expected, const Tensor& actual) {
    if (actual.shape() != expected.centre->shape() || actual.is_real() != expected.centre->is_real()) {
      return;  // another facet's finding
    }
    Comparison comparison;
    comparison.tensor = tensor;
    comparison.node = node;
    comparison.codes = !actual.is_real();
    comparison.elements = actual.size();
    if (actual.is_real()) {
      compare_reals(comparison, expected, actual);
    } else {
      compare_codes(comparison, expected, actual);
    }
    comparisons_.push_back(std::move(comparison));
  }

  static void compare_codes(Comparison& comparison, const Enclosure& expected, const Tensor& actual) {
    const std::span<const std::int64_t> low = expected.low_or_centre().integers();
    const std::span<const std::int64_t> high = expected.high_or_centre().integers();
    const std::span<const std::int64_t> values = actual.integers();
    for (std::size_t i = 0; i < values.size(); ++i) {
      comparison.ambiguous += low[i] != high[i] ? 1 : 0;
      if (values[i] < low[i] || values[i] > high[i]) {
        const auto outside = static_cast<double>(values[i] < low[i] ? low[i] - values[i] : values[i] - high[i]);
        comparison.add({static_cast<std::int64_t>(i), static_cast<double>(low[i]), static_cast<double>(high[i]),
                        static_cast<double>(values[i]), outside});
      }
    }
  }

  static void compare_reals(Comparison& comparison, const Enclosure& expected, const Tensor& actual) {
    const std::span<const double> low = expected.low_or_centre().reals();
    const std::span<const double> high = expected.high_or_centre().reals();
    const std::span<const double> values = actual.reals();
    const bool grid = expected.codes != nullptr && expected.codes->scale.size() == 1;
    const double scale = grid ? expected.codes->scale[0] : 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      // The result is stored as float32: a last rounding (a subnormal step at the bottom), and one of a
      // dequantization computed exactly above.
      const double error = expected.relative + 2 * kFloatUnit;
      const double from = low[i] - error * std::fabs(low[i]) - kSmallestFloat;
      const double to = high[i] + error * std::fabs(high[i]) + kSmallestFloat;
      bool inside = values[i] >= from && values[i] <= to;
      if (inside && grid && low[i] != high[i]) {
        const double code = values[i] / scale;
        inside = std::fabs(code - std::nearbyint(code)) <= 4 * kFloatUnit * std::max(1.0, std::fabs(code));
      }
      comparison.ambiguous += low[i] != high[i] ? 1 : 0;
      if (!inside) {
        const double outside = std::max(low[i] - values[i], values[i] - high[i]);
        comparison.add({static_cast<std::int64_t>(i), low[i], high[i], values[i], grid ? outside / scale : 0});
      }
    }
  }

  static constexpr double kSmallestFloat = 0x1p-149;

  const PreparedArtifact& artifact_;
  const Execution& execution_;
  const Style& style_;
  const bool stop_at_first_;
  std::unordered_map<std::string, Enclosure> values_;
  std::vector<Comparison> comparisons_;
  std::string note_;
};

std::string index_text(std::int64_t flat, const core::Shape& shape) {
  std::vector<std::string> parts(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    parts[axis] = std::to_string(flat % shape[axis]);
    flat /= shape[axis];
  }
  return "[" + core::join(parts, ",") + "]";
}

std::string number(double value, bool code) {
  return code ? std::to_string(static_cast<std::int64_t>(value)) : core::exact_text(static_cast<float>(value));
}

std::string difference_text(const Comparison& comparison, const Difference& difference, const core::Shape& shape) {
  std::string expected = number(difference.low, comparison.codes);
  if (difference.low != difference.high) {
    expected += " to " + number(difference.high, comparison.codes);
  }
  return fmt::format("{}{}: expected {}, actual {}", comparison.tensor, index_text(difference.index, shape), expected,
                     number(difference.actual, comparison.codes));
}

class IntegerCheck {
 public:
  IntegerCheck(const LayerContext& context, Judgement& out) : context_(context), out_(out) {}

  std::vector<Finding> run() {
    for (const Execution& execution : context_.evidence.executions) {
      if (execution.reply.outcome == converters::Outcome::ok) {
        executions_.push_back(&execution);
      }
    }
    if (context_.artifact == nullptr || executions_.empty()) {
      return {};
    }
    const Result<PreparedArtifact> prepared = PreparedArtifact::make(*context_.artifact);
    if (!prepared) {
      return {};  // the audit of parameters reports what cannot be read
    }
    const std::span<const Style> styles = styles_for(context_.evidence.converter.policy);
    for (const Style& style : styles) {
      if (explains(*prepared, style)) {
        return {};
      }
    }
    return applied_ ? report(*prepared, styles.back()) : std::vector<Finding>{};
  }

 private:
  bool explains(const PreparedArtifact& prepared, const Style& style) {
    std::int64_t compared = 0;
    std::int64_t ambiguous = 0;
    for (const Execution* execution : executions_) {
      Walk walk(prepared, *execution, style, true);
      walk.run();
      for (const Comparison& comparison : walk.comparisons()) {
        compared += comparison.elements;
        ambiguous += comparison.ambiguous;
      }
      applied_ = applied_ || compared > 0;
      if (!walk.agrees()) {
        return false;
      }
    }
    if (compared > 0) {
      out_.style = std::string(style.name);
      out_.layers.emplace_back("L1");
      out_.metrics.push_back({"", "", "l1_elements", static_cast<double>(compared)});
      out_.metrics.push_back({"", "", "l1_ambiguous", static_cast<double>(ambiguous)});
    }
    return true;
  }

  /// The widest style's differences: nothing narrower can explain more.
  std::vector<Finding> report(const PreparedArtifact& prepared, const Style& style) {
    out_.layers.emplace_back("L1");
    std::vector<Finding> findings;
    std::set<std::string> reported;
    for (const Execution* execution : executions_) {
      Walk walk(prepared, *execution, style, false);
      walk.run();
      for (const Comparison& comparison : walk.comparisons()) {
        if (comparison.wrong > 0 && reported.insert(comparison.tensor).second && findings.size() < kShown) {
          findings.push_back(finding(prepared, *execution, comparison, style, findings.empty()));
        }
      }
      if (!findings.empty() && reported.size() >= kShown) {
        break;
      }
    }
    return findings;
  }

  Finding finding(const PreparedArtifact& prepared, const Execution& execution, const Comparison& comparison,
                  const Style& style, bool first) {
    const Node& node = prepared.graph().nodes[comparison.node];
    const Node& source = computing_node(prepared, node);
    const auto traced = execution.trace.find(comparison.tensor);
    const bool is_trace = traced != execution.trace.end();
    const Tensor& actual = is_trace ? traced->second : execution.outputs.find(comparison.tensor)->second;
    Finding finding;
    finding.stage = Stage::execute;
    finding.facet = comparison.not_a_number ? Facet::nan : Facet::integers;
    finding.node = source.name;
    finding.op = source.op_type;
    finding.tensor = comparison.tensor;
    finding.data_set = execution.data_set;
    finding.layer = "L1";
    finding.margin = comparison.worst_steps;
    finding.message = fmt::format(
        "node \"{}\" ({}), tensor \"{}\", data set \"{}\": {} of {} elements differ, worst {} steps\n"
        "  the artifact's own graph in exact arithmetic, with the rounding errors of style \"{}\" and every narrower "
        "style, admits other values",
        source.name, source.op_type, comparison.tensor, execution.data_set, comparison.wrong, comparison.elements,
        core::exact_text(static_cast<float>(comparison.worst_steps)), style.name);
    for (const Difference& difference : comparison.shown) {
      finding.message += "\n  " + difference_text(comparison, difference, actual.shape());
    }
    if (is_trace) {
      finding.message +=
          first ? "\n  first wrong node, judged on its own actual inputs" : "\n  wrong on its own actual inputs too";
    }
    return finding;
  }

  /// The operator whose result `node` quantizes or dequantizes; `node` itself where it computes.
  static const Node& computing_node(const PreparedArtifact& prepared, const Node& node) {
    const Node* current = &node;
    while (current->op_type == "QuantizeLinear" || current->op_type == "DequantizeLinear") {
      const auto producer = prepared.wiring().producer(current->input(0));
      if (!producer) {
        break;
      }
      current = &prepared.graph().nodes[*producer];
    }
    return *current;
  }

  const LayerContext& context_;
  Judgement& out_;
  std::vector<const Execution*> executions_;
  bool applied_ = false;
};

}  // namespace

std::vector<Finding> check_integers(const LayerContext& context, Judgement& out) {
  return IntegerCheck(context, out).run();
}

}  // namespace assay::judge
