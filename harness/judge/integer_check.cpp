#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "harness/core/text.hpp"
#include "harness/judge/artifact_walk.hpp"
#include "harness/judge/execution_style.hpp"
#include "harness/judge/layers.hpp"

// L1: the artifact's own graph in exact arithmetic, an interval of admissible codes per element. What each style is
// granted is derived in docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
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

/// One data set walked through the artifact under one style and compared with what the executor gave.
class Check {
 public:
  Check(const PreparedArtifact& artifact, const Execution& execution, const Style& style, bool stop_at_first)
      : artifact_(artifact), execution_(execution), walk_(artifact, execution, style), stop_at_first_(stop_at_first) {}

  void run() {
    walk_.run([this](const std::string& tensor, std::size_t node, const Enclosure& expected, const Tensor& actual) {
      compare(tensor, node, expected, actual);
      return !stopped();
    });
    for (const model::ValueInfo& output : artifact_.graph().outputs) {
      const auto actual = execution_.outputs.find(output.name);
      const Enclosure* expected = walk_.find(output.name);
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
  [[nodiscard]] const std::string& note() const { return walk_.note(); }

 private:
  [[nodiscard]] bool stopped() const { return stop_at_first_ && !agrees(); }

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
    const std::span<const double> centre = expected.centre->reals();
    const auto [least, most] = std::minmax_element(centre.begin(), centre.end());
    const double step = centre.empty() ? 0 : (*most - *least) / 256;
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
      // Beside float32 noise: another code, or where there is none, as much as one of 256 codes over the range.
      comparison.ambiguous += (grid ? low[i] != high[i] : high[i] - low[i] > step) ? 1 : 0;
      if (!inside) {
        const double outside = std::max(low[i] - values[i], values[i] - high[i]);
        comparison.add({static_cast<std::int64_t>(i), low[i], high[i], values[i], grid ? outside / scale : 0});
      }
    }
  }

  static constexpr double kSmallestFloat = 0x1p-149;

  const PreparedArtifact& artifact_;
  const Execution& execution_;
  ArtifactWalk walk_;
  const bool stop_at_first_;
  std::vector<Comparison> comparisons_;
};

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
    Result<PreparedArtifact> prepared = PreparedArtifact::make(*context_.artifact);
    if (!prepared) {
      return {};  // the audit of parameters reports what cannot be read
    }
    mark_float_nodes(*prepared);
    const std::span<const Style> styles = styles_for(context_.evidence.converter.policy);
    for (const Style& style : styles) {
      if (explains(*prepared, style)) {
        return {};
      }
    }
    return applied_ ? report(*prepared, styles.back()) : std::vector<Finding>{};
  }

 private:
  void mark_float_nodes(PreparedArtifact& prepared) const {
    const model::Graph& original = context_.evidence.model->graph;
    for (const ArtifactNode& node : context_.artifact->nodes()) {
      const std::string& name =
          node.original ? original.nodes[*node.original].name : prepared.graph().nodes[node.index].name;
      for (const converters::NodePrecision& precision : context_.evidence.conversion.precision) {
        if (precision.node == name && precision.got != "int8") {
          prepared.set_float(node.index);
        }
      }
    }
  }

  bool explains(const PreparedArtifact& prepared, const Style& style) {
    std::int64_t compared = 0;
    std::int64_t ambiguous = 0;
    for (const Execution* execution : executions_) {
      Check check(prepared, *execution, style, true);
      check.run();
      for (const Comparison& comparison : check.comparisons()) {
        compared += comparison.elements;
        ambiguous += comparison.ambiguous;
      }
      applied_ = applied_ || compared > 0;
      // Named by the node: where this data set could not be followed any further, and every style stops there.
      if (!check.note().empty() && compared == 0 && stopped_at_.empty()) {
        stopped_at_ = check.note();
        out_.metrics.push_back({stopped_at_, execution->data_set, "l1_not_followed", 1});
      }
      if (!check.agrees()) {
        return false;
      }
    }
    // Where every element may be several codes, agreement says nothing.
    if (compared > 0 && (ambiguous < compared || style.arithmetic.float_unit == 0)) {
      out_.style = std::string(style.name);
      out_.layers.emplace_back("L1");
    }
    if (compared > 0) {
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
      Check check(prepared, *execution, style, false);
      check.run();
      for (const Comparison& comparison : check.comparisons()) {
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
  std::string stopped_at_;
};

}  // namespace

std::vector<Finding> check_integers(const LayerContext& context, Judgement& out) {
  return IntegerCheck(context, out).run();
}

}  // namespace assay::judge
