// Nodes and what they read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <variant>

#include "harness/mutants/mutation_places.hpp"
#include "harness/mutants/mutation_rows.hpp"

namespace assay::mutants::rows {

using core::Rng;
using core::Tensor;
using core::TensorPtr;
using model::Graph;
using model::Node;

namespace {

bool alike(const Draft& draft, std::string_view a, std::string_view b) {
  const auto x = draft.tensors.find(std::string(a)), y = draft.tensors.find(std::string(b));
  return x != draft.tensors.end() && y != draft.tensors.end() && x->second == y->second;
}

struct TwoInputs {
  std::size_t node = 0, first = 0, second = 0;
};

/// Two unlike inputs of one node that have the same type and shape.
std::vector<TwoInputs> alike_inputs(const Draft& draft) {
  std::vector<TwoInputs> places;
  for (const std::size_t node : nodes_where(draft.graph, computes)) {
    const std::vector<std::string>& inputs = draft.graph.nodes[node].inputs;
    for (std::size_t a = 0; a < inputs.size(); ++a) {
      for (std::size_t b = a + 1; b < inputs.size(); ++b) {
        if (inputs[a] != inputs[b] && alike(draft, inputs[a], inputs[b])) places.push_back({node, a, b});
      }
    }
  }
  return places;
}

}  // namespace

std::optional<Defect> operands_swapped(Draft& draft, Rng& rng) {
  const std::vector<TwoInputs> places = alike_inputs(draft);
  const TwoInputs* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->node];
  std::swap(node.inputs[place->first], node.inputs[place->second]);
  return defect_at(node, fmt::format("inputs {} and {} swapped", place->first, place->second));
}

std::optional<Defect> operand_twice(Draft& draft, Rng& rng) {
  const std::vector<TwoInputs> places = alike_inputs(draft);
  const TwoInputs* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->node];
  const bool first = rng.uniform() < 1.0 / 2;
  node.inputs[first ? place->second : place->first] = node.inputs[first ? place->first : place->second];
  return defect_at(node, fmt::format("input {} is read as input {} too", first ? place->first : place->second,
                                     first ? place->second : place->first));
}

/// Another tensor of the same type and shape that was made before.
std::optional<Defect> operand_of_another(Draft& draft, Rng& rng) {
  struct Place {
    std::size_t node = 0, input = 0;
    std::string other;
  };
  std::vector<Place> places;
  std::vector<std::string> made;
  for (const model::ValueInfo& input : draft.graph.inputs) made.push_back(input.name);
  for (std::size_t index = 0; index < draft.graph.nodes.size(); ++index) {
    const Node& node = draft.graph.nodes[index];
    for (std::size_t input = 0; computes(node) && input < node.inputs.size(); ++input) {
      for (const std::string& other : made) {
        if (other != node.inputs[input] && alike(draft, other, node.inputs[input])) {
          places.push_back({index, input, other});
        }
      }
    }
    made.insert(made.end(), node.outputs.begin(), node.outputs.end());
  }
  const Place* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->node];
  const std::string before = std::exchange(node.inputs[place->input], place->other);
  return defect_at(node, fmt::format("input {} reads \"{}\" instead of \"{}\"", place->input, place->other, before));
}

namespace {

/// A node with one output, and the input that has the output's type and shape.
std::vector<Operand> passable_nodes(const Draft& draft) {
  std::vector<Operand> places;
  for (const std::size_t index : nodes_where(draft.graph, computes)) {
    const Node& node = draft.graph.nodes[index];
    if (node.outputs.size() != 1) continue;
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const bool constant = constant_input(draft.graph, node, input) != nullptr;
      if (!constant && alike(draft, node.inputs[input], node.outputs.front())) places.push_back({index, input});
    }
  }
  return places;
}

}  // namespace

std::optional<Defect> node_removed(Draft& draft, Rng& rng) {
  const std::vector<Operand> places = passable_nodes(draft);
  const Operand* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Graph& graph = draft.graph;
  const Node removed = graph.nodes[place->node];
  const std::string input = removed.inputs[place->input], output = removed.outputs.front();
  if (can_be_rewired(graph, output)) {
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(place->node));
    rewire(graph, output, input);
  } else {
    Node& node = graph.nodes[place->node];
    node = Node{removed.name, "Identity", "", {input}, {output}, {}};
  }
  return defect_at(removed, fmt::format("removed: its readers read \"{}\"", input));
}

std::optional<Defect> node_doubled(Draft& draft, Rng& rng) {
  const std::vector<Operand> places = passable_nodes(draft);
  const Operand* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Graph& graph = draft.graph;
  Node again = graph.nodes[place->node];
  const Defect defect = defect_at(again, "done twice");
  const std::string once = model::fresh_name(graph, again.outputs.front() + "_once");
  graph.nodes[place->node].outputs.front() = once;
  again.inputs[place->input] = once;
  again.name = model::fresh_name(graph, again.name + "_again");
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(place->node) + 1, std::move(again));
  return defect;
}

}  // namespace assay::mutants::rows
