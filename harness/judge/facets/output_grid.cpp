#include "harness/judge/facets/output_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/float_format.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using model::Node;

/// What float32 leaves of a value that is an integer times the scale, relative to it.
constexpr double kGridRoundings = 0x1p-22;
/// Products with a smaller scale are subnormal, and are rounded by absolute steps.
constexpr double kLeastScale = 0x1p-120;

/// The first value that no code of `type` times `scale` gives, as a tensor of `stored` holds it.
std::optional<double> off_the_grid(std::span<const double> values, double scale, core::DType type, core::DType stored) {
  const double rounding = kGridRoundings + half_unit(stored);
  const auto found = std::ranges::find_if(values, [&](double value) {
    const double steps = value / scale;
    const double code = core::is_real(type) ? core::nearest_code(steps, type) : std::round(steps);
    return std::isfinite(value) && std::abs(steps - code) > rounding * std::max(std::abs(steps), 1.0);
  });
  return found == values.end() ? std::nullopt : std::optional(*found);
}

/// The step of the grid through zero on which all values lie, where they are so many of so few levels that no other
/// reason is left; nothing elsewhere.
std::optional<double> visible_step(std::vector<double> values) {
  constexpr std::size_t kFewestLevels = 16, kMostLevels = 256, kFewestOfOne = 4;
  constexpr double kRounding = 0x1p-18;  // of float32 products, and of the step that is found from them
  const std::size_t count = values.size();
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return std::nullopt;
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < kFewestLevels || values.size() > kMostLevels || count < kFewestOfOne * values.size())
    return std::nullopt;
  double least = values.back() - values.front();
  for (std::size_t i = 1; i < values.size(); ++i) least = std::min(least, values[i] - values[i - 1]);
  double products = 0, squares = 0;
  for (const double value : values) {
    const double code = std::round(value / least);
    products += value * code;
    squares += code * code;
  }
  const double step = products / squares;
  const bool on_grid = step > kLeastScale && std::ranges::all_of(values, [&](double value) {
                         const double steps = value / step;
                         return std::abs(steps - std::round(steps)) <= kRounding * std::max(std::abs(steps), 1.0);
                       });
  return on_grid ? std::optional(step) : std::nullopt;
}

/// What the converter tells of a tensor, where it lists its scales; else null.
const QuantParams* reported(const Evidence& evidence, std::string_view tensor) {
  if (!lists_scales(evidence)) return nullptr;
  const auto& all = evidence.conversion.tensors;
  const auto found = std::ranges::find(all, tensor, &converters::TensorScale::name);
  return found == all.end() ? nullptr : &found->params;
}

/// About a graph output that `node` makes.
Finding finding_of(Facet facet, const std::string& tensor, const Node& node, std::string_view what) {
  Finding finding;
  finding.stage = Stage::execute;
  finding.facet = facet;
  finding.node = node.name;
  finding.op = node.op_type;
  finding.tensor = tensor;
  finding.layer = "L0";
  finding.message = fmt::format("graph output \"{}\": {}", tensor, what);
  return finding;
}

/// What a converter that lists its scales says of an output beside the grid that its values show.
class VisibleGrid {
 public:
  explicit VisibleGrid(const LayerContext& context)
      : evidence_(context.evidence),
        constants_(constants_of(evidence_.model->graph)),
        graph_(evidence_.model->graph),
        wiring_(graph_) {}

  std::vector<Finding> run() {
    for (const model::ValueInfo& output : graph_.outputs) {
      const QuantParams* params = reported(evidence_, output.name);
      if (params == nullptr || params->scale.size() != 1 || !(params->scale.front() > kLeastScale)) continue;
      if (const Node* maker = maker_of(output.name)) check(output.name, *params, *maker);
    }
    return std::move(findings_);
  }

 private:
  /// Values that it makes lie on no such grid where nobody quantizes them: sums of several products, or of two
  /// activations. path_: the tensors from there on, none of which changes values but by a clamp. Null: another
  /// operator.
  const Node* maker_of(const std::string& output) {
    path_.clear();
    for (std::string tensor = output; path_.size() <= graph_.nodes.size();) {
      path_.push_back(tensor);
      const auto producer = wiring_.producer(tensor);
      if (!producer || runs_in_float(evidence_, graph_.nodes[*producer])) return nullptr;
      const Node& node = graph_.nodes[*producer];
      const OperatorTraits& traits = traits_of(node);
      if (sums_products(node)) return sums_several(node) ? &node : nullptr;
      const bool sum = traits.formula == Formula::sum || traits.formula == Formula::difference;
      if (sum && !constants_.contains(node.input(0)) && !constants_.contains(node.input(1))) {
        path_.insert(path_.end(), node.inputs.begin(), node.inputs.end());
        return &node;
      }
      if (!only_moves(node) && traits.clamp == Clamp::none) return nullptr;
      tensor = node.inputs.front();
    }
    return nullptr;
  }

  [[nodiscard]] bool sums_several(const Node& node) const {
    constexpr std::int64_t kSeveral = 4;
    const auto slots = weight_slots(node, constants_);
    if (!slots) return false;
    const Tensor& weight = *constants_.find(node.inputs[slots->weight])->second;
    const auto layout = weight_layout(node, weight.rank(), slots->weight);
    const std::int64_t channels = layout.channels(weight.shape());
    return channels > 0 && weight.size() / channels >= kSeveral;
  }

  void check(const std::string& tensor, const QuantParams& params, const Node& maker) {
    constexpr double kSameStep = 1e-4;
    std::vector<double> values;
    for (const Execution& execution : evidence_.executions) {
      const auto actual = execution.outputs.find(tensor);
      if (execution.reply.outcome != converters::Outcome::ok || actual == execution.outputs.end() ||
          !actual->second.is_real() || half_unit(actual->second.type()) != 0) {
        continue;
      }
      const std::span<const double> own = actual->second.reals();
      values.insert(values.end(), own.begin(), own.end());
    }
    if (!off_the_grid(values, params.scale.front(), params.type, core::DType::float32)) return;
    const auto step = visible_step(std::move(values));
    if (!step) return;
    const bool moved = std::ranges::any_of(path_, [&](const std::string& name) {
      const QuantParams* own = reported(evidence_, name);
      return own != nullptr && std::ranges::any_of(own->scale, [&](double scale) {
               return std::abs(*step - scale) <= kSameStep * scale;
             });
    });
    if (moved) return;
    Finding finding = finding_of(
        Facet::scale, tensor, maker,
        fmt::format(
            "its values lie on a grid of step {}, and the scale that the converter reports is {} ({:.4g} times)",
            core::exact_text(static_cast<float>(*step)), core::exact_text64(params.scale.front()),
            *step / params.scale.front()));
    finding.margin = std::abs(*step / params.scale.front() - 1) / kSameStep;
    findings_.push_back(std::move(finding));
  }

  const Evidence& evidence_;
  Constants constants_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  std::vector<std::string> path_;
  std::vector<Finding> findings_;
};

class OutputGrid {
 public:
  explicit OutputGrid(const LayerContext& context)
      : evidence_(context.evidence), constants_(constants_of(evidence_.model->graph)) {}

  std::vector<Finding> run() {
    const model::Graph& graph = evidence_.model->graph;
    const model::Wiring wiring(graph);
    for (const model::ValueInfo& output : graph.outputs) {
      const auto producer = wiring.producer(output.name);
      if (!producer || !is_quantized(graph.nodes[*producer], graph)) continue;
      if (const auto what = what_differs(output.name)) {
        findings_.push_back(finding_of(Facet::precision, output.name, graph.nodes[*producer],
                                       "the policy says that graph outputs are quantized, but " + *what));
      }
    }
    return std::move(findings_);
  }

 private:
  /// Whether the node is known to run in INT8, by the converter's word or since that is asked of it.
  [[nodiscard]] bool is_quantized(const Node& node, const model::Graph& graph) const {
    if (runs_in_float(evidence_, node)) return false;
    if (reported_precision(evidence_, node.name) == nullptr && has_matrix_bias(node, constants_)) return false;
    const bool named_once = std::ranges::count(graph.nodes, node.name, &Node::name) == 1;
    if (named_once && reported_precision(evidence_, node.name) != nullptr) return true;
    const auto demand = demanded_precision(evidence_, node);
    const bool weighted = constants_.contains(node.input(1)) || constants_.contains(node.input(0));
    return demand && (demand->stated || weighted);
  }

  [[nodiscard]] std::optional<std::string> what_differs(const std::string& tensor) const {
    const QuantParams* params = reported(evidence_, tensor);
    if (params == nullptr && lists_scales(evidence_)) return std::nullopt;  // the audit says what is missing
    if (params != nullptr && (params->scale.size() != 1 || !(params->scale.front() > kLeastScale))) return std::nullopt;
    const auto levels =
        std::size_t{1} << core::element_size_bits(params != nullptr ? params->type : evidence_.options.activation);
    DistinctCount distinct(levels + 1);
    for (const Execution& execution : evidence_.executions) {
      const auto actual = execution.outputs.find(tensor);
      if (execution.reply.outcome != converters::Outcome::ok || actual == execution.outputs.end() ||
          !actual->second.is_real()) {
        continue;
      }
      const std::span<const double> values = actual->second.reals();
      distinct.add(values);
      if (params == nullptr) continue;
      if (const auto off = off_the_grid(values, params->scale.front(), params->type, actual->second.type())) {
        return fmt::format("data set \"{}\" holds {}, which is {:.4f} steps of the reported scale {}",
                           execution.data_set, core::exact_text64(*off), *off / params->scale.front(),
                           core::exact_text64(params->scale.front()));
      }
    }
    if (distinct.count() <= levels) return std::nullopt;
    return fmt::format("its values are more than the {} of {}", levels, core::dtype_name(evidence_.options.activation));
  }

  const Evidence& evidence_;
  Constants constants_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_output_grid(const LayerContext& context) {
  // A model that holds its quantizers says itself which outputs have one; an artifact shows it.
  if (!context.evidence.options.calibrates() || context.artifact != nullptr || !context.alignment->given.empty())
    return {};
  const auto stated = context.evidence.converter.policy.outputs;
  if (stated == converters::GraphOutputs::quantized) return OutputGrid(context).run();
  return lists_scales(context.evidence) ? VisibleGrid(context).run() : std::vector<Finding>();
}

}  // namespace assay::judge
