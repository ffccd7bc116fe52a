#include "harness/judge/artifact/evident_options.hpp"

#include <algorithm>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/derived_params.hpp"

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
  // Weights of 8 bits with a scale for each channel are those of an integer network, too.
  if (options.dynamic) {
    options.activation = core::DType::uint8;
    options.symmetric = false;
  } else if (!any &&
             (block != 0 || core::element_size_bits(options.weight) < 8 || scale_type != core::DType::float32)) {
    options.activation = core::DType::undefined;
    options.block = block;
    options.scale_type = scale_type;
    options.symmetric = centred;
  }
  return options;
}

}  // namespace assay::judge
