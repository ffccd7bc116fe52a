#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/text.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/granted_params.hpp"
#include "harness/judge/audit/weight_policy.hpp"
#include "harness/judge/evidence/demands.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;

/// Every set of parameters with which the original's tensor `name` is quantized in the artifact: as an operand of a
/// node that reads it, or where it is made. With `original` those of a weight are in its own layout.
std::vector<QuantParams> artifact_params(const ArtifactView& view, const model::Graph* original,
                                         const std::string& name) {
  std::vector<QuantParams> found;
  const auto add = [&](const QuantParams& params) {
    if (std::ranges::find(found, params) == found.end()) found.push_back(params);
  };
  for (const Quantizer* quantizer : view.quantizers_of(name)) add(quantizer->params);
  for (const ArtifactNode& node : view.nodes()) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Operand& input = node.inputs[i];
      if (input.original != name || !input.quantized()) continue;
      // A weight may have been transposed with its operator (a MatMul in a Gemm's place).
      const core::Tensor* weight = node.original && original != nullptr ? original->initializer(name) : nullptr;
      const bool turns = weight != nullptr && weight->rank() == 2 && input.constant_codes != nullptr;
      add(turns ? turned_to(*input.params, view.artifact().graph.nodes[node.index], original->nodes[*node.original], i,
                            weight->shape())
                : *input.params);
    }
  }
  return found;
}

std::vector<QuantParams> declared_params(const LayerContext& context, const std::string& name) {
  if (context.artifact != nullptr) return artifact_params(*context.artifact, &context.evidence.model->graph, name);
  std::vector<QuantParams> found;
  for (const converters::TensorScale& tensor : context.evidence.conversion.tensors) {
    if (tensor.name == name) found.push_back(tensor.params);
  }
  return found;
}

std::string brief(const QuantParams& params) {
  return fmt::format(
      "{} scale{} from {}, zero_point {}, axis {}", params.scale.size(), params.scale.size() == 1 ? "" : "s",
      params.scale.empty() ? "none" : core::exact_text(static_cast<float>(params.scale.front())),
      params.zero_point.empty() ? 0 : params.zero_point.front(), params.axis ? std::to_string(*params.axis) : "none");
}

/// The first facet in which `params` differs from what the case expects. A count of scales along an axis is expected
/// of per-axis options only.
std::optional<std::pair<Facet, std::string>> differs(const corpus::ExpectedScale& expected, const QuantParams& params,
                                                     bool per_axis) {
  const bool one_for_all = !per_axis && params.scale.size() == 1;
  if (!one_for_all && expected.count && *expected.count != static_cast<std::int64_t>(params.scale.size())) {
    return std::pair(Facet::count, fmt::format("expected {} scales", *expected.count));
  }
  if (expected.scale) {
    const double limit = 2 * float32_ulp(*expected.scale);
    const bool close =
        std::ranges::all_of(params.scale, [&](double s) { return std::abs(s - *expected.scale) <= limit; });
    if (!close) return std::pair(Facet::scale, fmt::format("expected scale {}", core::exact_text64(*expected.scale)));
  }
  if (expected.scale_at_least) {
    constexpr double kStepsOf8Bits = 255;
    const auto limits = core::integer_limits(params.type);
    const double least = *expected.scale_at_least * kStepsOf8Bits / static_cast<double>(limits.high - limits.low);
    const bool wide = std::ranges::all_of(params.scale, [&](double s) { return s >= least; });  // NaN isn't
    if (!wide) return std::pair(Facet::scale, fmt::format("expected scale {} at least", core::exact_text64(least)));
  }
  if (expected.zero_point) {
    const bool equal =
        std::ranges::all_of(params.zero_point, [&](std::int64_t z) { return z == *expected.zero_point; });
    if (!equal) return std::pair(Facet::zero_point, fmt::format("expected zero_point {}", *expected.zero_point));
  }
  // One scale has no axis of its own.
  if (expected.axis && params.scale.size() > 1 && params.axis != expected.axis) {
    return std::pair(Facet::axis, fmt::format("expected axis {}", *expected.axis));
  }
  return std::nullopt;
}

/// A least scale alone: what isn't quantized is cut nowhere.
bool asks_for_width_alone(const corpus::ExpectedScale& expected) {
  return expected.scale_at_least && !expected.axis && !expected.count && !expected.scale && !expected.zero_point;
}

/// Every node that reads a tensor runs in float, by the converter's own choice.
bool left_in_float(const Evidence& evidence, const std::string& tensor) {
  return evidence.converter.policy.chooses_int8 &&
         std::ranges::all_of(evidence.model->graph.nodes, [&](const model::Node& node) {
           return std::ranges::find(node.inputs, tensor) == node.inputs.end() || runs_in_float(evidence, node);
         });
}

/// The policy's `whole_weights` gives what reads the tensor one scale for its weights.
bool is_whole_weight(const LayerContext& context, const std::string& tensor) {
  return std::ranges::any_of(context.evidence.model->graph.nodes, [&](const model::Node& node) {
    return std::ranges::find(node.inputs, tensor) != node.inputs.end() &&
           has_whole_weights(context.evidence.converter.policy, node.op_type);
  });
}

void check_expected(const LayerContext& context, std::vector<Finding>& findings) {
  const bool uncalibrated = !context.evidence.options.calibrates();
  for (const auto& [name, expected] : context.evidence.test_case->expect.scales) {
    if (uncalibrated && context.evidence.model->graph.initializer(name) == nullptr) continue;
    const auto declared = declared_params(context, name);
    const bool per_axis = context.evidence.options.per_axis && !is_whole_weight(context, name);
    if (declared.empty() && asks_for_width_alone(expected)) continue;
    if (declared.empty()) {
      const bool output = context.evidence.model->graph.find_output(name) != nullptr;
      if (output && context.evidence.converter.policy.outputs == converters::GraphOutputs::stay_float) continue;
      // Who tells the activations' scales alone has none of a weight to show.
      const bool weight = context.evidence.model->graph.initializer(name) != nullptr;
      if (weight && context.evidence.converter.supports.says("activations")) continue;
      const bool input = context.evidence.model->graph.find_input(name) != nullptr;
      if (!input && context.evidence.converter.supports.says("inputs")) continue;
      if (uncalibrated || left_in_float(context.evidence, name)) continue;  // the weight's node is named
      findings.push_back(audit_finding(
          Facet::scale, name, fmt::format("tensor \"{}\": expected a scale, but the artifact declares none", name)));
    }
    for (const QuantParams& params : declared) {
      if (params.block != 0) continue;  // what is expected is said of channels
      const auto difference = differs(expected, params, per_axis);
      if (!difference) continue;
      findings.push_back(
          audit_finding(difference->first, name,
                        fmt::format("tensor \"{}\": {}, actual {}", name, difference->second, brief(params))));
    }
  }
}

bool same_values(const QuantParams& a, const QuantParams& b) {
  const auto close = [](double x, double y) { return std::abs(x - y) <= float32_ulp(y); };
  if (a.zero_point != b.zero_point || a.scale.size() != b.scale.size()) return false;
  if (a.scale.size() > 1 && a.axis && b.axis && *a.axis != *b.axis) return false;
  return std::ranges::equal(a.scale, b.scale, close);
}

/// A table of tensors next to an artifact must say what the artifact says.
void check_table(const LayerContext& context, std::vector<Finding>& findings) {
  if (context.artifact == nullptr) return;
  for (const converters::TensorScale& tensor : context.evidence.conversion.tensors) {
    std::vector<QuantParams> declared;
    for (const Quantizer* quantizer : context.artifact->quantizers_from(tensor.name)) {
      declared.push_back(quantizer->params);
    }
    if (declared.empty()) declared = artifact_params(*context.artifact, nullptr, tensor.name);
    if (declared.empty()) continue;
    if (std::ranges::any_of(declared, [&](const QuantParams& params) { return same_values(tensor.params, params); }))
      continue;
    findings.push_back(audit_finding(Facet::scale, tensor.name,
                                     fmt::format("tensor \"{}\": the converter's table says {}, its own artifact {}",
                                                 tensor.name, brief(tensor.params), brief(declared.front()))));
  }
}

}  // namespace

std::vector<TensorParameters> tensor_parameters(const LayerContext& context) {
  std::set<std::string> names;
  for (const auto& [name, params] : context.audited) names.insert(name);
  for (const auto& [name, tensor] : context.evidence.model->graph.initializers) names.insert(name);
  for (const converters::TensorScale& tensor : context.evidence.conversion.tensors) names.insert(tensor.name);
  std::vector<TensorParameters> tensors;
  for (const std::string& name : names) {
    TensorParameters tensor{name, std::nullopt, declared_params(context, name)};
    // Weights and biases have rules of their own; of those the audit of weights says what it expects.
    const bool constant = context.evidence.model->graph.initializer(name) != nullptr;
    if (const auto found = context.audited.find(name); !constant && found != context.audited.end()) {
      tensor.expected = found->second;
    }
    if (tensor.expected || !tensor.declared.empty()) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<Finding> audit_declared(const LayerContext& context) {
  std::vector<Finding> findings;
  check_expected(context, findings);
  check_table(context, findings);
  return findings;
}

std::vector<Finding> audit_parameters(const LayerContext& context, const CalibrationRanges& calibration,
                                      Judgement& out) {
  const converters::Supports& supports = context.evidence.converter.supports;
  const bool opaque = supports.artifact == converters::ArtifactKind::opaque;
  const bool answers_for_table =
      !opaque || supports.says("tensors") || supports.says("activations") || supports.says("inputs");
  const bool has_table = answers_for_table && !context.evidence.conversion.tensors.empty();
  if (context.artifact == nullptr && !has_table) {
    std::vector<Finding> findings;
    if (!opaque) check_expected(context, findings);
    return findings;
  }
  // Without the data that an artifact was calibrated on its ranges are not audited, and a layer stands for all it asks.
  if (context.evidence.calibration != nullptr || !context.alignment->given.empty()) out.layers.emplace_back("L0");
  std::vector<Finding> findings = audit_structure(context, out);
  const auto append = [&](std::vector<Finding> more) { std::ranges::move(more, std::back_inserter(findings)); };
  append(audit_activations(context, calibration));
  append(audit_weights(context, out));
  append(audit_declared(context));
  return findings;
}

}  // namespace assay::judge
