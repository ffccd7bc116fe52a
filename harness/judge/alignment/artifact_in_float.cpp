#include "harness/judge/alignment/artifact_in_float.hpp"

#include <algorithm>

#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
using model::Node;

model::Model artifact_in_float(const ArtifactView& view) {
  model::Model plain = view.artifact();
  for (Node& node : plain.graph.nodes) {
    if (!model::is_quantizer(node) || view.constant(node.input(0)) != nullptr) continue;
    node.op_type = "Identity";
    node.domain.clear();
    node.inputs.resize(1);
    node.attributes.clear();
  }
  return plain;
}

std::vector<std::string> own_tensors(const ArtifactView& view, const model::Graph& original,
                                     const converters::Policy& policy) {
  const auto is_own = [](const Quantizer& quantizer) {
    return quantizer.original.empty() && !quantizer.constant && !quantizer.chained;
  };
  // The usual artifact has none: nothing is wired then.
  if (std::ranges::none_of(view.quantizers(), is_own)) return {};
  const model::Graph& graph = view.artifact().graph;
  const model::Wiring known(original), wiring(graph);
  const auto may_take_another = [&](const Quantizer& quantizer) {
    if (const auto producer = wiring.producer(quantizer.float_name)) {
      const Node& node = graph.nodes[*producer];
      if (policy.fixed_ranges.contains(model::operator_name(node))) return true;
      if (stays_in_range(traits_of(node)) && !only_moves(node)) return true;
    }
    const auto clamps = [&](std::size_t reader) { return traits_of(graph.nodes[reader]).clamp != Clamp::none; };
    const auto& direct = wiring.consumers(quantizer.float_name);
    if (std::ranges::any_of(direct, clamps)) return true;
    for (const std::size_t reader : wiring.consumers(quantizer.codes)) {
      for (const std::string& output : graph.nodes[reader].outputs) {
        if (std::ranges::any_of(wiring.consumers(output), clamps)) return true;
      }
    }
    return false;
  };
  std::vector<std::string> names;
  for (const Quantizer& quantizer : view.quantizers()) {
    if (!is_own(quantizer)) continue;
    if (known.producer(quantizer.float_name) || original.find_input(quantizer.float_name) != nullptr) continue;
    if (!may_take_another(quantizer)) names.push_back(quantizer.float_name);
  }
  return names;
}

}  // namespace assay::judge
