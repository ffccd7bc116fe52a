#include "harness/judge/artifact/evident_options.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {

converters::Options evident_options(const std::shared_ptr<const model::Model>& artifact, const model::Model& original,
                                    const converters::Options& fallback, const converters::Policy& policy) {
  converters::Options options = fallback;
  const core::Result<ArtifactView> view = ArtifactView::build(artifact, original);
  if (!view) return options;
  bool any = false;
  bool symmetric = true;
  for (const Quantizer& quantizer : view->quantizers()) {
    if (quantizer.constant || quantizer.params.zero_point.empty()) continue;
    const std::int64_t zero_point = quantizer.params.zero_point.front();
    if (policy.unsigned_codes == converters::UnsignedCodes::nonnegative &&
        quantizer.params.type == core::DType::uint8 && zero_point == 0) {
      continue;  // its range has no negative end: it would be so whatever was asked for
    }
    any = true;
    options.activation = quantizer.params.type;
    symmetric = symmetric && is_centre(zero_point, quantizer.params.type);
  }
  if (any) options.symmetric = symmetric;
  bool weights = false;
  bool per_axis = false;
  bool centred = true;
  std::int64_t block = 0;
  auto scale_type = core::DType::float32;
  const auto& graph = view->artifact().graph;
  const model::Wiring wiring(graph);
  options.dynamic = !any && std::ranges::any_of(graph.nodes, [&](const model::Node& node) {
    return dynamic_codes(node, wiring, graph).has_value();
  });
  for (const ArtifactNode& node : view->nodes()) {
    for (const Operand& input : node.inputs) {
      if (input.constant_codes == nullptr || !input.quantized() || input.constant_codes->rank() < 2) continue;
      weights = true;
      options.weight = input.params->type;
      per_axis = per_axis || input.params->axis.has_value();
      block = std::max(block, input.params->block);
      scale_type = input.params->scale_type;
      centred = centred && std::ranges::all_of(input.params->zero_point, [&](std::int64_t zero_point) {
                  return is_centre(zero_point, input.params->type);
                });
    }
  }
  if (weights) options.per_axis = per_axis;
  if (weights && !any) options.symmetric = centred;
  // Weights of 8 bits with a scale for each channel are those of an integer network, too.
  if (options.dynamic) {
    options.activation = core::DType::uint8;
    options.symmetric = false;
  } else if (!any &&
             (block != 0 || core::element_size_bits(options.weight) < 8 || scale_type != core::DType::float32)) {
    options.activation = core::DType::undefined;
    options.block = block;
    options.scale_type = scale_type;
  }
  return options;
}

std::map<std::size_t, WeightForm> evident_weight_forms(const std::shared_ptr<const model::Model>& artifact,
                                                       const model::Model& original) {
  const core::Result<ArtifactView> view = ArtifactView::build(artifact, original);
  if (!view) return {};
  std::map<std::size_t, WeightForm> forms;
  std::set<std::tuple<std::size_t, core::DType, std::int64_t>> kinds;
  bool blocks = false, beyond_options = false;
  for (const ArtifactNode& node : view->nodes()) {
    if (!node.original || !sums_products(node.op)) continue;
    for (const Operand& input : node.inputs) {
      if (input.constant_codes == nullptr || !input.quantized() || input.constant_codes->rank() < 2) continue;
      const core::QuantParams& params = *input.params;
      const bool symmetric = std::ranges::all_of(
          params.zero_point, [&](std::int64_t zero_point) { return is_centre(zero_point, params.type); });
      forms[*node.original] = {params.type, params.scale_type, params.block, symmetric};
      kinds.emplace(core::element_size_bits(params.type), params.scale_type, params.block);
      const bool matrix = input.constant_codes->rank() == 2 && is_matrix_product(traits_of(node.op).product);
      blocks = blocks || params.block != 0;
      beyond_options = beyond_options || (params.block != 0 && !matrix);
    }
  }
  const bool activations =
      std::ranges::any_of(view->quantizers(), [](const Quantizer& quantizer) { return !quantizer.constant; });
  if (kinds.size() < 2 && !beyond_options && !(blocks && activations)) forms.clear();
  return forms;
}

}  // namespace assay::judge
