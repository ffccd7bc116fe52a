#include "harness/judge/alignment/artifact_in_float.hpp"

#include <algorithm>
#include <map>

#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using model::Node;

/// The tensor of the artifact without quantizers that `name` is there.
std::string source_of(const std::map<std::string, std::string>& replaced, std::string name) {
  for (auto found = replaced.find(name); found != replaced.end(); found = replaced.find(name)) name = found->second;
  return name;
}

/// The outputs of the quantizers of activations, each with that quantizer's input.
std::map<std::string, std::string> quantized_twins(const ArtifactView& view) {
  std::map<std::string, std::string> twins;
  for (const Node& node : view.artifact().graph.nodes) {
    if (model::is_quantizer(node) && !node.outputs.empty() && view.constant(node.input(0)) == nullptr &&
        node.input(0) != node.outputs.front()) {
      twins.emplace(node.outputs.front(), node.inputs.front());
    }
  }
  return twins;
}

}  // namespace

model::Model artifact_in_float(const ArtifactView& view) {
  model::Model plain = view.artifact();
  const std::map<std::string, std::string> twins = quantized_twins(view);
  std::erase_if(plain.graph.nodes, [&](const Node& node) {
    return model::is_quantizer(node) && !node.outputs.empty() && twins.contains(node.outputs.front()) &&
           !view.artifact().graph.find_output(node.outputs.front());
  });
  for (Node& node : plain.graph.nodes) {
    if (model::is_quantizer(node)) continue;  // of a constant, or a graph's output
    for (std::string& input : node.inputs) input = source_of(twins, input);
  }
  return plain;
}

std::vector<std::string> own_tensors(const ArtifactView& view, const model::Graph& original,
                                     const converters::Policy& policy) {
  if (std::ranges::any_of(view.nodes(), &ArtifactNode::qoperator)) return {};
  const model::Graph& graph = view.artifact().graph;
  const model::Wiring known(original), wiring(graph);
  const auto may_take_another = [&](const Quantizer& quantizer) {
    if (const auto producer = wiring.producer(quantizer.float_name)) {
      const Node& node = graph.nodes[*producer];
      if (policy.fixed_ranges.contains(node.op_type)) return true;
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
    if (!quantizer.original.empty() || quantizer.constant || quantizer.chained) continue;
    if (known.producer(quantizer.float_name) || original.find_input(quantizer.float_name) != nullptr) continue;
    if (!may_take_another(quantizer)) names.push_back(quantizer.float_name);
  }
  return names;
}

}  // namespace assay::judge
