#include "harness/judge/facets/output_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "harness/core/float_format.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/alignment/statistics.hpp"
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
      if (const auto what = what_differs(output.name)) add(output.name, graph.nodes[*producer], *what);
    }
    return std::move(findings_);
  }

 private:
  /// Whether the node is known to run in INT8, by the converter's word or since that is asked of it.
  [[nodiscard]] bool is_quantized(const Node& node, const model::Graph& graph) const {
    if (runs_in_float(evidence_, node)) return false;
    const bool named_once = std::ranges::count(graph.nodes, node.name, &Node::name) == 1;
    if (named_once && reported_precision(evidence_, node.name) != nullptr) return true;
    const auto demand = demanded_precision(evidence_, node);
    const bool weighted = constants_.contains(node.input(1)) || constants_.contains(node.input(0));
    return demand && (demand->stated || weighted);
  }

  [[nodiscard]] const QuantParams* reported(const std::string& tensor) const {
    if (!lists_scales(evidence_)) return nullptr;
    const auto& all = evidence_.conversion.tensors;
    const auto found = std::ranges::find(all, tensor, &converters::TensorScale::name);
    return found == all.end() ? nullptr : &found->params;
  }

  [[nodiscard]] std::optional<std::string> what_differs(const std::string& tensor) const {
    const QuantParams* params = reported(tensor);
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

  void add(const std::string& tensor, const Node& node, const std::string& what) {
    Finding finding;
    finding.stage = Stage::execute;
    finding.facet = Facet::precision;
    finding.node = node.name;
    finding.op = node.op_type;
    finding.tensor = tensor;
    finding.layer = "L0";
    finding.message =
        fmt::format("graph output \"{}\": the policy says that graph outputs are quantized, but {}", tensor, what);
    findings_.push_back(std::move(finding));
  }

  const Evidence& evidence_;
  Constants constants_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_output_grid(const LayerContext& context) {
  const bool states = context.evidence.converter.policy.outputs == converters::GraphOutputs::quantized;
  // A model that holds its quantizers says itself which outputs have one; an artifact shows it.
  if (!states || !context.evidence.options.calibrates() || context.artifact != nullptr ||
      !context.alignment->given.empty())
    return {};
  return OutputGrid(context).run();
}

}  // namespace assay::judge
