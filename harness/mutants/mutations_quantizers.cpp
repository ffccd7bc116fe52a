// Pairs of QuantizeLinear and DequantizeLinear of activations.
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

std::optional<Defect> scale(Draft& draft, Rng& rng) {
  const std::vector<Pair> pairs = pairs_of(draft.graph);
  const Pair* pair = pick(pairs, rng);
  if (pair == nullptr) return std::nullopt;
  const double factor = drawn_factor(rng);
  for (const std::size_t node : pair->all()) {
    const TensorPtr before = constant_input(draft.graph, draft.graph.nodes[node], kScaleInput);
    set_constant(draft.graph, node, kScaleInput, times(*before, factor));
  }
  return defect_at(draft.graph.nodes[pair->quantize], fmt::format("scale of both sides times {}", factor));
}

std::optional<Defect> zero_point(Draft& draft, Rng& rng) {
  std::vector<Pair> pairs = pairs_of(draft.graph);
  std::erase_if(pairs, [&](const Pair& pair) {
    return std::ranges::any_of(pair.all(), [&](std::size_t node) {
      const TensorPtr zero = constant_input(draft.graph, draft.graph.nodes[node], kZeroPointInput);
      return zero == nullptr || zero->size() != 1 || zero->is_real();
    });
  });
  const Pair* pair = pick(pairs, rng);
  if (pair == nullptr) return std::nullopt;
  const TensorPtr zero = constant_input(draft.graph, draft.graph.nodes[pair->quantize], kZeroPointInput);
  const std::int64_t moved = near_code(zero->integers().front(), zero->type(), rng);
  for (const std::size_t node : pair->all()) {
    set_constant(draft.graph, node, kZeroPointInput, with_element(*zero, 0, static_cast<double>(moved)));
  }
  return defect_at(draft.graph.nodes[pair->quantize],
                   fmt::format("zero point of both sides {} instead of {}", moved, zero->integers().front()));
}

std::optional<Defect> one_side_scale(Draft& draft, Rng& rng) {
  const std::vector<Pair> pairs = pairs_of(draft.graph);
  const Pair* pair = pick(pairs, rng);
  if (pair == nullptr) return std::nullopt;
  const std::vector<std::size_t> sides = pair->all();
  const std::size_t node = *pick(sides, rng);
  const double factor = drawn_factor(rng);
  const TensorPtr before = constant_input(draft.graph, draft.graph.nodes[node], kScaleInput);
  set_constant(draft.graph, node, kScaleInput, times(*before, factor));
  return defect_at(draft.graph.nodes[node], fmt::format("scale of this side alone times {}", factor));
}

std::optional<Defect> one_side_zero_point(Draft& draft, Rng& rng) {
  std::vector<std::size_t> sides;
  for (const Pair& pair : pairs_of(draft.graph)) {
    for (const std::size_t node : pair.all()) {
      const TensorPtr zero = constant_input(draft.graph, draft.graph.nodes[node], kZeroPointInput);
      if (zero != nullptr && zero->size() == 1 && !zero->is_real()) sides.push_back(node);
    }
  }
  const std::size_t* node = pick(sides, rng);
  if (node == nullptr) return std::nullopt;
  const TensorPtr zero = constant_input(draft.graph, draft.graph.nodes[*node], kZeroPointInput);
  const std::int64_t moved = near_code(zero->integers().front(), zero->type(), rng);
  set_constant(draft.graph, *node, kZeroPointInput, with_element(*zero, 0, static_cast<double>(moved)));
  return defect_at(draft.graph.nodes[*node],
                   fmt::format("zero point of this side alone {} instead of {}", moved, zero->integers().front()));
}

namespace {

/// Input `input` of the two: do they differ?
bool differ(const Graph& graph, const Pair& a, const Pair& b, std::size_t input) {
  const TensorPtr x = constant_input(graph, graph.nodes[a.quantize], input);
  const TensorPtr y = constant_input(graph, graph.nodes[b.quantize], input);
  return (x == nullptr) != (y == nullptr) || (x != nullptr && *x != *y);
}

}  // namespace

std::optional<Defect> other_quantizer(Draft& draft, Rng& rng) {
  const Graph& graph = draft.graph;
  const std::vector<Pair> pairs = pairs_of(graph);
  std::vector<std::pair<const Pair*, const Pair*>> choices;
  const auto type_of = [&](const Pair& pair) {
    const auto facts = draft.tensors.find(graph.nodes[pair.quantize].outputs.front());
    return facts == draft.tensors.end() ? core::DType::undefined : facts->second.type;
  };
  const auto per_tensor = [&](const Pair& pair) {
    return constant_input(graph, graph.nodes[pair.quantize], kScaleInput)->size() == 1;
  };
  for (const Pair& a : pairs) {
    for (const Pair& b : pairs) {
      const bool same_form = type_of(a) == type_of(b) && per_tensor(a) && per_tensor(b) &&
                             graph.nodes[a.quantize].inputs.size() == graph.nodes[b.quantize].inputs.size();
      if (same_form && (differ(graph, a, b, kScaleInput) || differ(graph, a, b, kZeroPointInput))) {
        choices.emplace_back(&a, &b);
      }
    }
  }
  const auto* choice = pick(choices, rng);
  if (choice == nullptr) return std::nullopt;
  const std::vector<std::string> inputs = graph.nodes[choice->second->quantize].inputs;
  for (const std::size_t node : choice->first->all()) {
    Node& changed = draft.graph.nodes[node];
    std::copy(inputs.begin() + 1, inputs.end(), changed.inputs.begin() + 1);
  }
  return defect_at(graph.nodes[choice->first->quantize],
                   fmt::format("scale and zero point of \"{}\"", graph.nodes[choice->second->quantize].name));
}

std::optional<Defect> pair_removed(Draft& draft, Rng& rng) {
  const std::vector<Pair> pairs = pairs_of(draft.graph);
  const Pair* pair = pick(pairs, rng);
  if (pair == nullptr) return std::nullopt;
  Graph& graph = draft.graph;
  const Defect defect = defect_at(graph.nodes[pair->quantize], "removed with what dequantizes its values");
  const std::string real = graph.nodes[pair->quantize].inputs.front();
  const std::string codes = graph.nodes[pair->quantize].outputs.front();
  for (const std::size_t index : pair->dequantize) {
    Node& node = graph.nodes[index];
    const std::string output = node.outputs.front();
    node = Node{node.name, "Identity", "", {real}, {output}, {}};
    if (!can_be_rewired(graph, output)) continue;
    rewire(graph, output, real);
    node.outputs = {model::fresh_name(graph, output + "_unread")};
  }
  const bool read = !model::Wiring(graph).consumers(codes).empty() || graph.find_output(codes) != nullptr;
  std::erase_if(graph.nodes, [&](const Node& node) {
    const bool unread = is_op(node, "Identity") && node.outputs.front().ends_with("_unread");
    return unread || (!read && node.outputs.front() == codes);
  });
  return defect;
}

std::optional<Defect> pair_added(Draft& draft, Rng& rng) {
  const std::vector<Pair> pairs = pairs_of(draft.graph);
  const Pair* pair = pick(pairs, rng);
  if (pair == nullptr) return std::nullopt;
  Graph& graph = draft.graph;
  const std::size_t last = pair->dequantize.front();
  const double factor = 1 + drawn_factor(rng);
  Node quantize = graph.nodes[pair->quantize], dequantize = graph.nodes[last];
  const Defect defect = defect_at(dequantize, fmt::format("rounded once more, to {} times the step", factor));
  const std::string tensor = dequantize.outputs.front();
  const std::string once = model::fresh_name(graph, tensor + "_once"),
                    codes = model::fresh_name(graph, tensor + "_codes");
  const std::string coarse = model::fresh_name(graph, tensor + "_coarse");
  graph.initializers[coarse] =
      std::make_shared<const Tensor>(times(*constant_input(graph, quantize, kScaleInput), factor));
  graph.nodes[last].outputs.front() = once;
  quantize.inputs[0] = once;
  dequantize.inputs[0] = codes;
  quantize.outputs = {codes};
  for (Node* node : {&quantize, &dequantize}) {
    node->inputs[kScaleInput] = coarse;
    node->name = model::fresh_name(graph, node->name + "_again");
  }
  const auto at = graph.nodes.begin() + static_cast<std::ptrdiff_t>(last) + 1;
  graph.nodes.insert(at, {std::move(quantize), std::move(dequantize)});
  return defect;
}

}  // namespace assay::mutants::rows
