#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/core/text.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/enclosures/execution_style.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
std::vector<Finding> audit_normalizations(const LayerContext& context) {
  constexpr double kCodes = 127, kRelativeError = 0x1p-22;
  std::vector<Finding> findings;
  const model::Graph& original = context.evidence.model->graph;
  const Constants constants = constants_of(original);
  for (const ArtifactNode& made : context.artifact->nodes()) {
    if (!made.original || traits_of(made.op).normalization == Normalization::none || made.inputs.size() <= kBias)
      continue;
    const model::Node& node = original.nodes[*made.original];
    const Operand& operand = made.inputs[kBias];
    const core::TensorPtr expected = find_constant(constants, node.input(kBias));
    if (!operand.quantized() || operand.constant_codes == nullptr || expected == nullptr) continue;
    const core::TensorPtr actual = dequantized_constant(operand);
    if (actual == nullptr || actual->size() != expected->size()) continue;
    const std::span<const double> wanted = expected->reals();
    const std::span<const double> had = actual->reals();
    double largest = 0, worst = -1;
    std::size_t at = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      largest = std::max(largest, std::fabs(wanted[i]));
      if (const double error = std::fabs(had[i] - wanted[i]); error > worst) {
        worst = error;
        at = i;
      }
    }
    const double limit = largest / kCodes / 2 * (1 + kRelativeError) + kRelativeError * largest;
    if (!(worst > limit)) continue;
    const std::string tensor(node.input(kBias));
    Finding finding = audit_finding(
        Facet::bias, tensor,
        fmt::format("node \"{}\" ({}), bias \"{}\": element {}: expected {}, actual {} (step {}): off by more than {}, "
                    "half a step of 8 bits over the bias's own range, and no sum asks for a coarser one",
                    node.name, node.op_type, tensor, at, core::exact_text64(wanted[at]), core::exact_text64(had[at]),
                    core::exact_text(static_cast<float>(operand.params->scale.front())), core::exact_text64(limit)),
        worst / limit);
    finding.node = node.name;
    finding.op = node.op_type;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace assay::judge
