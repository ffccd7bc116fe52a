#include "converters/embedded/layer_norm.hpp"

#include <optional>

namespace assay::embedded {
namespace {

using model::Graph;
using model::Wiring;

std::optional<std::size_t> made_by(const Graph& graph, const Wiring& wiring, std::string_view tensor,
                                   std::string_view op) {
  const auto producer = wiring.producer(tensor);
  if (!producer || graph.nodes[*producer].op_type != op) return std::nullopt;
  return producer;
}

/// x^2 as Pow(x, 2) or Mul(x, x); the answer is the node, and `base` what is squared.
std::optional<std::size_t> square(const Graph& graph, const Wiring& wiring, std::string_view tensor,
                                  std::string_view& base) {
  if (const auto product = made_by(graph, wiring, tensor, "Mul")) {
    const auto& node = graph.nodes[*product];
    base = node.input(0);
    return node.input(0) == node.input(1) ? product : std::nullopt;
  }
  const auto power = made_by(graph, wiring, tensor, "Pow");
  if (!power) return std::nullopt;
  const auto& node = graph.nodes[*power];
  const auto* exponent = graph.initializer(node.input(1));
  base = node.input(0);
  return exponent != nullptr && exponent->size() == 1 && exponent->as_real(0) == 2 ? power : std::nullopt;
}

/// d / sqrt(mean(d^2) + epsilon) with d = x - mean(x), read backwards from the Div.
std::set<std::size_t> normalization_ending_at(const Graph& graph, const Wiring& wiring, std::size_t quotient) {
  const auto& div = graph.nodes[quotient];
  const auto root = made_by(graph, wiring, div.input(1), "Sqrt");
  if (!root) return {};
  const auto sum = made_by(graph, wiring, graph.nodes[*root].input(0), "Add");
  if (!sum) return {};
  const auto& add = graph.nodes[*sum];
  const std::size_t side = graph.initializers.contains(std::string(add.input(0))) ? 1 : 0;
  const auto variance = made_by(graph, wiring, add.input(side), "ReduceMean");
  if (!variance) return {};
  std::string_view base;
  const auto squared = square(graph, wiring, graph.nodes[*variance].input(0), base);
  if (!squared) return {};
  const auto difference = made_by(graph, wiring, base, "Sub");
  const auto numerator = made_by(graph, wiring, div.input(0), "Sub");
  if (!difference || !numerator) return {};
  for (const auto sub : {*difference, *numerator}) {
    const auto mean = made_by(graph, wiring, graph.nodes[sub].input(1), "ReduceMean");
    if (!mean || graph.nodes[*mean].input(0) != graph.nodes[sub].input(0)) return {};
  }
  return {quotient, *root, *sum, *variance, *squared};
}

}  // namespace

std::set<std::size_t> layer_normalization_nodes(const Graph& graph) {
  const Wiring wiring(graph);
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op_type != "Div") continue;
    const auto nodes = normalization_ending_at(graph, wiring, i);
    all.insert(nodes.begin(), nodes.end());
  }
  return all;
}

}  // namespace assay::embedded
