#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/text.hpp"
#include "harness/judge/audit.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;

std::string name_of(const ArtifactView& view, std::string_view artifact_tensor) {
  std::string original = view.original_tensor(artifact_tensor);
  return original.empty() ? std::string(artifact_tensor) : original;
}

/// Scales that aren't positive and finite, zero points that aren't codes.
void check_sane(const ArtifactView& view, const QuantParams& params, const model::Node& node,
                std::vector<Finding>& findings) {
  const auto limits = core::integer_limits(params.type);
  for (std::size_t i = 0; i < params.scale.size(); ++i) {
    Facet facet = Facet::scale;
    std::string message;
    if (!std::isfinite(params.scale[i]) || !(params.scale[i] > 0)) {
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

/// A DequantizeLinear reads codes with the parameters that made them.
void check_pairs(const ArtifactView& view, std::vector<Finding>& findings) {
  std::map<std::string, const Quantizer*> makers;
  for (const Quantizer& quantizer : view.quantizers()) makers[quantizer.codes] = &quantizer;
  for (const ArtifactNode& node : view.nodes()) {
    for (const Operand& input : node.inputs) {
      const auto maker = makers.find(input.codes);
      if (!input.quantized() || maker == makers.end() || maker->second->params == *input.params) continue;
      const QuantParams& made = maker->second->params;
      const bool scale = made.scale != input.params->scale;
      const auto first = [](const QuantParams& params) {
        return fmt::format("scale {}, zero_point {}", core::exact_text(static_cast<float>(params.scale.front())),
                           params.zero_point.front());
      };
      findings.push_back(
          audit_finding(scale ? Facet::scale : Facet::zero_point, name_of(view, input.name),
                        fmt::format("tensor \"{}\" is quantized with {}, but read by {} with {}",
                                    name_of(view, input.name), first(made), node.op, first(*input.params))));
    }
  }
}

/// A tensor that is quantized twice in a row with different parameters loses precision for nothing, unless somebody
/// reads the first form too.
void check_doubled(const ArtifactView& view, const model::Model& original, std::vector<Finding>& findings) {
  const model::Wiring wiring(view.artifact().graph);
  const bool given = std::ranges::any_of(original.graph.nodes,
                                         [](const model::Node& node) { return node.op_type == "QuantizeLinear"; });
  for (const Quantizer& quantizer : view.quantizers()) {
    if (!quantizer.chained || given) continue;
    const auto dequantizer = wiring.producer(quantizer.float_name);
    if (!dequantizer || wiring.is_output(quantizer.float_name)) continue;
    const model::Node& node = view.artifact().graph.nodes[*dequantizer];
    const auto before = std::ranges::find(view.quantizers(), std::string(node.input(0)), &Quantizer::codes);
    if (before == view.quantizers().end() || before->params == quantizer.params) continue;
    const bool others = wiring.consumers(quantizer.float_name).size() > 1 || wiring.consumers(before->codes).size() > 1;
    if (others) continue;
    findings.push_back(audit_finding(
        Facet::scale, quantizer.original,
        fmt::format("tensor \"{}\" is quantized twice in a row: scale {}, then {}; nobody reads the first form",
                    quantizer.original, core::exact_text(static_cast<float>(before->params.scale.front())),
                    core::exact_text(static_cast<float>(quantizer.params.scale.front())))));
  }
}

/// The real values that per-tensor parameters can express.
Interval expressible(const QuantParams& params) {
  const auto limits = core::integer_limits(params.type);
  return {reference::dequantize(limits.low, params.scale.front(), params.zero_point.front()),
          reference::dequantize(limits.high, params.scale.front(), params.zero_point.front())};
}

double rounding_error(double value, const QuantParams& params) {
  const auto code = reference::quantize(value, params.scale.front(), params.zero_point.front(), params.type);
  return value - reference::dequantize(code, params.scale.front(), params.zero_point.front());
}

/// Concat under methods other than min-max: an output narrower than a branch's own declared range is worth a note, and
/// a defect where a range that covers the branch would lower the output's error by more than chance explains. (Under
/// min-max the audit of the output's range is the sharper check.)
class ConcatCheck {
 public:
  explicit ConcatCheck(const LayerContext& context) : context_(context) {}

  std::vector<Finding> run() {
    if (context_.evidence.options.method == converters::Method::minmax) return {};
    for (const ArtifactNode& node : context_.artifact->nodes()) {
      if (node.op != "Concat" || node.outputs.empty() || !node.outputs.front() ||
          node.outputs.front()->scale.size() != 1)
        continue;
      if (clipped_afterwards(node)) continue;
      for (const Operand& branch : node.inputs) check(node, branch);
    }
    return std::move(findings_);
  }

 private:
  /// A Relu or Clip that alone reads the Concat may lend it its own, narrower range.
  bool clipped_afterwards(const ArtifactNode& node) const {
    if (!node.original) return false;
    const model::Graph& graph = context_.evidence.model->graph;
    const std::string& output = graph.nodes[*node.original].outputs.front();
    const model::Wiring wiring(graph);
    const auto& consumers = wiring.consumers(output);
    if (wiring.is_output(output) || consumers.size() != 1) return false;
    const std::string& op = graph.nodes[consumers.front()].op_type;
    return op == "Relu" || op == "Clip";
  }

  void check(const ArtifactNode& node, const Operand& branch) {
    if (!node.original || !branch.quantized() || branch.params->scale.size() != 1 || branch.original.empty()) return;
    const QuantParams& out = *node.outputs.front();
    const Interval wide = expressible(*branch.params), narrow = expressible(out);
    const double step = out.scale.front();
    if (wide.low >= narrow.low - step && wide.high <= narrow.high + step) return;
    const Comparison errors =
        compare(*node.original, out, std::min(wide.low, narrow.low), std::max(wide.high, narrow.high));
    Finding finding = audit_finding(
        Facet::scale, branch.original,
        fmt::format("Concat branch \"{}\" is declared over [{:.9g}, {:.9g}], but the output's codes only reach "
                    "[{:.9g}, {:.9g}]\n"
                    "  mean squared error of the output: {:.3g}; with a range that covers the branch: {:.3g}",
                    branch.original, wide.low, wide.high, narrow.low, narrow.high, errors.declared, errors.covering));
    finding.amber = !errors.significant;
    finding.op = "Concat";
    finding.node = context_.artifact->artifact().graph.nodes[node.index].name;
    findings_.push_back(std::move(finding));
  }

  /// Mean squared errors of the Concat's reference values under the declared and under a covering range.
  struct Comparison {
    double declared = 0, covering = 0;
    bool significant = false;  ///< the mean difference exceeds t standard errors
  };
  Comparison compare(std::size_t original, const QuantParams& declared, double low, double high) const {
    const std::string& output = context_.evidence.model->graph.nodes[original].outputs.front();
    const QuantParams covering = derive_params(low, high, declared.type, context_.evidence.options.symmetric, {});
    double sum_declared = 0, sum_covering = 0, squares = 0, count = 0;
    for (std::size_t i = 0; i < context_.reference.size(); ++i) {
      if (context_.reference[i] == nullptr || context_.evidence.executions[i].data_set != "typical") continue;
      const auto values = context_.reference[i]->find(output);
      if (values == context_.reference[i]->end() || !values->second.is_real()) continue;
      for (const double value : values->second.reals()) {
        if (!std::isfinite(value)) continue;
        const double a = std::pow(rounding_error(value, declared), 2), b = std::pow(rounding_error(value, covering), 2);
        sum_declared += a;
        sum_covering += b;
        squares += (a - b) * (a - b);
        ++count;
      }
    }
    if (count < 2) return {};
    const double mean = (sum_declared - sum_covering) / count;
    const double variance = std::max(0.0, squares / count - mean * mean) / (count - 1);
    return {sum_declared / count, sum_covering / count, mean > context_.threshold() * std::sqrt(variance)};
  }

  const LayerContext& context_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_structure(const LayerContext& context) {
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
    return findings;
  }
  const ArtifactView& view = *context.artifact;
  const model::Graph& graph = view.artifact().graph;
  const auto constants = constants_of(graph);
  for (const model::Node& node : graph.nodes) {
    if (node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
    if (const auto params = read_quant_params(node, constants)) check_sane(view, *params, node, findings);
  }
  check_pairs(view, findings);
  check_doubled(view, *context.evidence.model, findings);
  std::ranges::move(ConcatCheck(context).run(), std::back_inserter(findings));
  return findings;
}

}  // namespace assay::judge
