#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/facets/facets.hpp"
#include "harness/judge/facets/noise_evidence.hpp"

namespace assay::judge {
namespace {

using model::Node;

/// Every data operand is codes. A constant slope of PRelu may stay as it is: then the operator is a table for each
/// slope.
bool reads_codes(const ArtifactNode& node) {
  const bool table = node.op == "PRelu" && node.inputs.size() == 2 && node.inputs[1].constant_values != nullptr;
  return node.quantized_inputs || node.fused || (table && node.inputs[0].quantized());
}

bool reads_dynamic_codes(const ArtifactNode& node) {
  return std::ranges::any_of(node.inputs, [](const Operand& input) { return input.dynamic; });
}

std::string missing_scales(const ArtifactNode& node) {
  std::vector<std::string> missing;
  const std::size_t data = data_input_count(node.op, node.inputs.size());
  for (std::size_t i = 0; i < data; ++i) {
    const Operand& input = node.inputs[i];
    if (input.name.empty() || input.quantized() || input.dynamic) continue;
    missing.push_back(fmt::format("input {} \"{}\"", i, input.original.empty() ? input.name : input.original));
  }
  return missing.empty() ? "every input is quantized" : fmt::format("{} isn't quantized", fmt::join(missing, ", "));
}

class PrecisionCheck {
 public:
  explicit PrecisionCheck(const LayerContext& context)
      : context_(context),
        evidence_(context.evidence),
        constants_(constants_of(evidence_.model->graph)),
        varying_(varying_tensors(evidence_.model->graph)) {
    // A model that is quantized already says itself what runs in INT8.
    given_ = std::ranges::any_of(evidence_.model->graph.nodes,
                                 [](const Node& node) { return node.op_type == "QuantizeLinear"; });
    if (evidence_.converter.policy.gates_in_float) in_float_ = squeeze_gates(evidence_.model->graph);
  }

  PrecisionFindings run() {
    const auto& nodes = evidence_.model->graph.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto demand = demand_of(nodes[i]);
      if (demand) check_node(i, nodes[i], *demand);
    }
    // Without a graph to look at, only the noise tells; a map is no more than a claim. A model that holds its
    // quantizers is its own reference: there is no noise to carry.
    out_.noise_decides = out_.findings.empty() && demanded_ && !mixed_ && !given_ && context_.artifact == nullptr;
    out_.required = required_;
    return std::move(out_);
  }

 private:
  /// Shapes, indices and masks have no precision.
  bool computes_real_data(const Node& node) const {
    if (context_.reference.empty() || context_.reference.front() == nullptr) return true;
    const core::TensorMap& tensors = *context_.reference.front();
    return std::ranges::any_of(node.outputs, [&](const std::string& output) {
      const auto found = tensors.find(output);
      return found == tensors.end() ? !output.empty() : found->second.is_real();
    });
  }

  std::optional<Demand> demand_of(const Node& node) const {
    // What is made of constants alone is a constant itself.
    const bool data = std::ranges::any_of(node.outputs, [&](const auto& output) { return varying_.contains(output); });
    if (!data || !computes_real_data(node)) return std::nullopt;
    auto demand = demanded_precision(evidence_, node);
    const bool uncalibrated = !evidence_.options.calibrates();
    if (!demand || (demand->stated && (!uncalibrated || is_float(demand->precision)))) return demand;
    const bool weights = constants_.contains(node.input(1)) ||
                         (traits_of(node).product == Product::matmul && constants_.contains(node.input(0)));
    if (uncalibrated && !sums_products(node)) return std::nullopt;
    if (given_ || !weights || in_float_.contains(&node)) return std::nullopt;
    if (!uncalibrated && has_matrix_bias(node, constants_)) return std::nullopt;
    return demand;
  }

  void add(const Node& node, bool amber, std::string message) {
    Finding finding;
    finding.stage = Stage::convert;
    finding.facet = Facet::precision;
    finding.node = node.name;
    finding.op = node.op_type;
    finding.layer = context_.artifact != nullptr ? "L0" : "";
    finding.amber = amber;
    finding.message = std::move(message);
    out_.findings.push_back(std::move(finding));
  }

  void check_node(std::size_t index, const Node& node, const Demand& demand) {
    const ArtifactNode* made = context_.alignment->made(index);
    const converters::NodePrecision* map = reported_precision(evidence_, node.name);
    const bool allowed = demand.precision == Precision::int8_allowed;
    if (!is_float(demand.precision)) {
      const auto in_float = [&](std::string message) {
        if (out_.findings.empty()) out_.ran_in_float = true;
        add(node, allowed, std::move(message));
      };
      if (evidence_.options.weights_only()) {
        if (made != nullptr && !context_.alignment->has_weight_in_codes(index)) {
          in_float(fmt::format("node \"{}\" ({}): expected its weight in {}, but it is real in the artifact", node.name,
                               node.op_type, core::dtype_name(evidence_.options.weight)));
        }
      } else if (map != nullptr && !ran_in_int8(*map)) {
        in_float(fmt::format("node \"{}\" ({}): expected int8{}, actual {} by the converter's precision map", node.name,
                             node.op_type, allowed ? " (allowed)" : "", map->got));
      } else if (made != nullptr && !evidence_.options.dynamic && reads_dynamic_codes(*made)) {
        add(node, allowed,
            fmt::format("node \"{}\" ({}): expected int8 on calibrated ranges, but each inference finds its own",
                        node.name, node.op_type));
      } else if (made != nullptr && !reads_codes(*made)) {
        in_float(fmt::format("node \"{}\" ({}): expected int8, but {} in the artifact{}", node.name, node.op_type,
                             missing_scales(*made), map != nullptr ? ", though the precision map says int8" : ""));
      }
      demanded_ = true;
      required_ = required_ || !allowed;
      return;
    }
    mixed_ = true;
    // fp32 or fp16 was asked: a quantized weight or a map that says int8 contradicts it.
    const bool weight =
        sums_products(node) && (context_.alignment->has_weight_in_codes(index) || tells_weight_scale(node));
    const bool mapped = map != nullptr && !evidence_.options.weights_only() && ran_in_int8(*map);
    const bool silent = map == nullptr || evidence_.options.weights_only() || context_.artifact == nullptr;
    if (mapped || (silent && weight)) {
      add(node, false,
          fmt::format("node \"{}\" ({}): expected {}, actual int8{}", node.name, node.op_type,
                      core::word_of(demand.precision), mapped ? "" : " (its weight is quantized)"));
    }
  }

  /// Without an artifact: a scale is told of the node's weight, and every node that reads it was asked for in float.
  bool tells_weight_scale(const Node& node) const {
    if (context_.artifact != nullptr || !lists_scales(evidence_)) return false;
    const auto slots = weight_slots(node, constants_);
    if (!slots) return false;
    const std::string& weight = node.inputs[slots->weight];
    const bool told = std::ranges::find(evidence_.conversion.tensors, weight, &converters::TensorScale::name) !=
                      evidence_.conversion.tensors.end();
    return told && std::ranges::all_of(evidence_.model->graph.nodes, [&](const Node& other) {
             if (std::ranges::find(other.inputs, weight) == other.inputs.end()) return true;
             const auto demand = demand_of(other);
             return demand && is_float(demand->precision);
           });
  }

  const LayerContext& context_;
  const Evidence& evidence_;
  Constants constants_;
  std::set<std::string> varying_;
  std::set<const Node*> in_float_;  ///< by the stated policy
  PrecisionFindings out_;
  bool given_ = false, demanded_ = false, required_ = false, mixed_ = false;
};

}  // namespace

PrecisionFindings check_precision(const LayerContext& context) { return PrecisionCheck(context).run(); }

void check_noise(const LayerContext& context, Grounds& grounds, PrecisionFindings& precision) {
  if (!precision.noise_decides) return;
  if (context.depth == Depth::gate && !precision.required) return;  // nothing red can come of it
  const auto evidence = weigh_noise(context, grounds);
  if (!evidence) return;
  precision.noise_ratio = evidence->ratio;
  const double limit = float_noise_limit(context, *evidence);
  if (!(evidence->ratio < limit)) return;
  precision.ran_in_float = true;
  const bool told = !context.evidence.conversion.precision.empty();
  Finding finding;
  finding.stage = Stage::execute;
  finding.facet = Facet::precision;
  finding.amber = !precision.required;
  finding.layer = "L2";
  finding.margin = evidence->ratio;
  finding.message = fmt::format(
      "the outputs carry {:.3g} of the noise that INT8 must leave (threshold {:.3g}): "
      "they were computed in float{}; single nodes left in float deep in a graph can't be told this way",
      evidence->ratio, limit, told ? ", though the converter's precision map says int8" : "");
  precision.findings.push_back(std::move(finding));
}

}  // namespace assay::judge
