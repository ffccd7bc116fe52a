#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/text.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;

std::string name_of(const ArtifactView& view, std::string_view artifact_tensor) {
  std::string original = view.original_tensor(artifact_tensor);
  return original.empty() ? std::string(artifact_tensor) : original;
}

/// Scales that aren't positive and finite, zero points that aren't codes.
void check_sane(const ArtifactView& view, const QuantParams& params, const model::Node& node, bool may_be_negative,
                std::vector<Finding>& findings) {
  const auto limits = core::integer_limits(params.type);
  for (std::size_t i = 0; i < params.scale.size(); ++i) {
    Facet facet = Facet::scale;
    std::string message;
    const double scale = may_be_negative ? std::abs(params.scale[i]) : params.scale[i];
    if (!std::isfinite(scale) || !(scale > 0)) {
      message =
          fmt::format("scale {} is {}, expected a positive finite number", i, core::exact_text64(params.scale[i]));
    } else if (params.zero_point[i] < limits.low || params.zero_point[i] > limits.high) {
      facet = Facet::zero_point;
      message = fmt::format("zero_point {} is {}, outside {}", i, params.zero_point[i], core::dtype_name(params.type));
    } else {
      continue;
    }
    const std::string tensor = name_of(view, node.input(0));
    Finding finding = audit_finding(
        facet, tensor, fmt::format("node \"{}\" ({}), tensor \"{}\": {}", node.name, node.op_type, tensor, message));
    finding.node = node.name;
    finding.op = node.op_type;
    findings.push_back(std::move(finding));
    return;
  }
}

/// The quantizer whose codes are `codes`, or what those were moved from; null where an operator made them.
const Quantizer* maker_of_codes(const ArtifactView& view, const model::Wiring& wiring, std::string codes) {
  while (true) {
    if (const Quantizer* maker = view.quantizer_of_codes(codes)) return maker;
    const auto producer = wiring.producer(codes);
    if (!producer) return nullptr;
    const model::Node& node = view.artifact().graph.nodes[*producer];
    const bool moves = node.op_type == "Identity" || (only_moves(node) && data_input_count(node) == 1);
    if (!moves || node.inputs.empty()) return nullptr;
    codes = node.inputs.front();
  }
}

/// Who reads what `dequantizer` gives, in a few words.
std::string reader_of(const model::Graph& graph, const model::Wiring& wiring, const model::Node& dequantizer) {
  const std::vector<std::size_t>& readers = wiring.consumers(dequantizer.outputs.front());
  return readers.empty() ? fmt::format("the output \"{}\"", dequantizer.outputs.front())
                         : graph.nodes[readers.front()].op_type;
}

/// A DequantizeLinear reads codes with the parameters that made them, whoever reads what it gives.
void check_pairs(const ArtifactView& view, std::vector<Finding>& findings) {
  const model::Graph& graph = view.artifact().graph;
  const auto constants = constants_of(graph);
  const model::Wiring wiring(graph);
  const auto first = [](const QuantParams& params) {
    return fmt::format("scale {}, zero_point {}", core::exact_text(static_cast<float>(params.scale.front())),
                       params.zero_point.front());
  };
  for (const model::Node& node : graph.nodes) {
    if (node.op_type != "DequantizeLinear" || node.outputs.empty()) continue;
    const Quantizer* maker = maker_of_codes(view, wiring, std::string(node.input(0)));
    const auto read = read_quant_params(node, constants);
    if (maker == nullptr || !read) continue;
    const QuantParams& made = maker->params;
    if (made.scale == read->scale && made.zero_point == read->zero_point) continue;
    const std::string tensor = name_of(view, node.outputs.front());
    findings.push_back(audit_finding(made.scale != read->scale ? Facet::scale : Facet::zero_point, tensor,
                                     fmt::format("tensor \"{}\" is quantized with {}, but read by {} with {}", tensor,
                                                 first(made), reader_of(graph, wiring, node), first(*read))));
  }
}

/// The second of two quantizers in a row does the work of a Relu or Clip that is gone, and the first doesn't.
bool stands_for_activation(const Alignment& alignment, const Quantizer& before, const Quantizer& quantizer) {
  const auto producer = alignment.wiring.producer(quantizer.original);
  if (!producer || !alignment.is_gone(*producer)) return false;
  const auto passed = alignment.passed_by(alignment.original->graph.nodes[*producer]);
  return passed && cuts_like(quantizer.params, *passed) && !cuts_like(before.params, *passed);
}

/// A tensor that is quantized twice in a row with different parameters loses precision for nothing, unless somebody
/// reads the first form too.
void check_doubled(const ArtifactView& view, const Alignment& alignment, std::vector<Finding>& findings) {
  const model::Wiring wiring(view.artifact().graph);
  const model::Model& original = *alignment.original;
  const bool given = std::ranges::any_of(original.graph.nodes,
                                         [](const model::Node& node) { return node.op_type == "QuantizeLinear"; });
  for (const Quantizer& quantizer : view.quantizers()) {
    if (!quantizer.chained || given) continue;
    const auto dequantizer = wiring.producer(quantizer.float_name);
    if (!dequantizer || wiring.is_output(quantizer.float_name)) continue;
    const model::Node& node = view.artifact().graph.nodes[*dequantizer];
    const Quantizer* before = view.quantizer_of_codes(node.input(0));
    if (before == nullptr || before->params == quantizer.params) continue;
    const bool others = wiring.consumers(quantizer.float_name).size() > 1 || wiring.consumers(before->codes).size() > 1;
    if (others || stands_for_activation(alignment, *before, quantizer)) continue;
    findings.push_back(audit_finding(
        Facet::scale, quantizer.original,
        fmt::format("tensor \"{}\" is quantized twice in a row: scale {}, then {}; nobody reads the first form",
                    quantizer.original, core::exact_text(static_cast<float>(before->params.scale.front())),
                    core::exact_text(static_cast<float>(quantizer.params.scale.front())))));
  }
}

}  // namespace

std::vector<Finding> audit_structure(const LayerContext& context, Judgement& out) {
  std::vector<Finding> findings;
  if (context.artifact == nullptr) {
    for (const converters::TensorScale& tensor : context.evidence.conversion.tensors) {
      const bool sane = !tensor.params.scale.empty() &&
                        std::ranges::all_of(tensor.params.scale, [](double s) { return std::isfinite(s) && s > 0; });
      if (!sane) {
        findings.push_back(
            audit_finding(Facet::scale, tensor.name,
                          fmt::format("tensor \"{}\": no positive finite scale is reported", tensor.name)));
      }
    }
    std::ranges::move(audit_completeness(context), std::back_inserter(findings));
    std::ranges::move(audit_concats(context, out), std::back_inserter(findings));
    return findings;
  }
  const ArtifactView& view = *context.artifact;
  const model::Graph& graph = view.artifact().graph;
  const auto constants = constants_of(graph);
  for (const model::Node& node : graph.nodes) {
    if (node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
    if (const auto params = read_quant_params(node, constants)) {
      const bool constant = node.op_type == "DequantizeLinear" && constants.contains(node.input(0));
      check_sane(view, *params, node, constant && context.evidence.converter.policy.signed_scales, findings);
    }
  }
  check_pairs(view, findings);
  check_doubled(view, *context.alignment, findings);
  for (auto more : {audit_fusions(context), audit_normalizations(context), audit_constants(context),
                    audit_policy(context), audit_concats(context, out)}) {
    std::ranges::move(more, std::back_inserter(findings));
  }
  return findings;
}

}  // namespace assay::judge
