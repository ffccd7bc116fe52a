#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/text.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/normalization_limits.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

/// The element that is furthest outside its limits, in units of what it may be off on that side.
struct Outside {
  std::size_t element = 0;
  double expected = 0, actual = 0, limit = 0, margin = 0;
};

std::optional<Outside> worst_of(const core::Tensor& expected, const core::Tensor& actual,
                                const std::vector<Interval>& limits) {
  std::optional<Outside> worst;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const double want = expected.reals()[i], got = actual.reals()[i];
    if (!(got < limits[i].low) && !(got > limits[i].high)) continue;
    const double limit = got < want ? want - limits[i].low : limits[i].high - want;
    const double margin = std::fabs(got - want) / limit;
    if (!worst || margin > worst->margin) worst = Outside{i, want, got, limit, margin};
  }
  return worst;
}

/// Where the limit comes from.
std::string limit_text(const model::Node& node, std::size_t input, const Constants& constants, const Outside& worst,
                       double noise) {
  if (noise == 0) {
    return fmt::format("half a step of 8 bits over the {}'s own range, and no sum asks for a coarser one",
                       input == kBias ? "bias" : "constant");
  }
  const double scale = find_constant(constants, node.input(1))->as_real(static_cast<std::int64_t>(worst.element));
  const auto gain = [&](double variance) {
    return core::exact_text(static_cast<float>(scale / std::sqrt(variance + node.float_or("epsilon", 1e-5))));
  };
  return fmt::format(
      "which makes the gain scale/√(variance + epsilon) {} in place of {}; over all channels the noise is {} times "
      "that of gains with 8 bits",
      gain(worst.actual), gain(worst.expected), core::exact_text(static_cast<float>(noise)));
}

}  // namespace

std::vector<Finding> audit_normalizations(const LayerContext& context) {
  std::vector<Finding> findings;
  const model::Graph& original = context.evidence.model->graph;
  const Constants constants = constants_of(original);
  for (const ArtifactNode& made : context.artifact->nodes()) {
    if (!made.original || traits_of(made.op).normalization == Normalization::none) continue;
    const model::Node& node = original.nodes[*made.original];
    for (std::size_t input = 1; input < made.inputs.size(); ++input) {
      const Operand& operand = made.inputs[input];
      const auto limits = normalization_limits(node, input, constants, operand, context.evidence);
      const auto worst = limits ? worst_of(*find_constant(constants, node.input(input)), *dequantized_constant(operand),
                                           limits->elements)
                                : std::nullopt;
      if (!worst) continue;
      const std::string tensor(node.input(input));
      Finding finding = audit_finding(
          input == kBias ? Facet::bias : Facet::weight, tensor,
          fmt::format(
              "node \"{}\" ({}), {} \"{}\": element {}: expected {}, actual {} (step {}): off by more than {}, {}",
              node.name, node.op_type, input == kBias ? "bias" : "constant", tensor, worst->element,
              core::exact_text64(worst->expected), core::exact_text64(worst->actual),
              core::exact_text(static_cast<float>(operand.params->scale.front())), core::exact_text64(worst->limit),
              limit_text(node, input, constants, *worst, limits->noise)),
          std::max(worst->margin, limits->noise));
      finding.node = node.name;
      finding.op = node.op_type;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace assay::judge
