// Attributes of quantizers and of nodes that compute.
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

/// Another axis of the same extent, for both sides of a pair or for a constant's DequantizeLinear.
std::optional<Defect> quantizer_axis(Draft& draft, Rng& rng) {
  struct Place {
    std::vector<std::size_t> nodes;
    std::int64_t axis = 0;
  };
  std::vector<Place> places;
  const auto add = [&](const std::vector<std::size_t>& nodes) {
    const Node& node = draft.graph.nodes[nodes.front()];
    const TensorPtr scales = constant_input(draft.graph, node, kScaleInput);
    const auto facts = draft.tensors.find(node.inputs.front());
    if (scales == nullptr || scales->size() < 2 || facts == draft.tensors.end()) return;
    const auto rank = static_cast<std::int64_t>(facts->second.shape.size());
    const std::int64_t stated = node.int_or("axis", 1), own = stated < 0 ? stated + rank : stated;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (axis != own && facts->second.shape[static_cast<std::size_t>(axis)] == scales->size()) {
        places.push_back({nodes, axis});
      }
    }
  };
  for (const Pair& pair : pairs_of(draft.graph)) add(pair.all());
  for (const bool biases : {false, true}) {
    for (const std::size_t node : constant_codes(draft.graph, biases)) add({node});
  }
  const Place* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  for (const std::size_t node : place->nodes) draft.graph.nodes[node].attributes["axis"] = place->axis;
  return defect_at(draft.graph.nodes[place->nodes.front()], fmt::format("scales along axis {}", place->axis));
}

/// Pads moved by one from one side to the other: the shapes stay.
std::optional<Defect> pads(Draft& draft, Rng& rng) {
  struct Place {
    std::size_t node = 0, from = 0, to = 0;
  };
  std::vector<Place> places;
  for (const std::size_t index : nodes_where(draft.graph, computes)) {
    const std::vector<std::int64_t> given = draft.graph.nodes[index].ints_or("pads");
    const std::size_t half = given.size() / 2;
    for (std::size_t d = 0; d < half; ++d) {
      if (given[d] > 0) places.push_back({index, d, d + half});
      if (given[d + half] > 0) places.push_back({index, d + half, d});
    }
  }
  const Place* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->node];
  std::vector<std::int64_t> moved = node.ints_or("pads");
  --moved[place->from];
  ++moved[place->to];
  node.attributes["pads"] = moved;
  return defect_at(node, fmt::format("pads [{}]", fmt::join(moved, ",")));
}

namespace {

/// Attributes of computing nodes that hold a T for which `fits`.
template <typename T, typename Fits>
std::vector<std::pair<std::size_t, std::string>> attributes_of(const Graph& graph, const Fits& fits) {
  std::vector<std::pair<std::size_t, std::string>> places;
  for (const std::size_t node : nodes_where(graph, computes)) {
    for (const auto& [name, value] : graph.nodes[node].attributes) {
      if (const T* held = std::get_if<T>(&value); held != nullptr && fits(name, *held)) places.emplace_back(node, name);
    }
  }
  return places;
}

}  // namespace

std::optional<Defect> float_attribute(Draft& draft, Rng& rng) {
  const auto places = attributes_of<double>(draft.graph, [](const std::string&, double) { return true; });
  const auto* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->first];
  const double before = node.float_or(place->second, 0);
  constexpr double kSmall = 1e-3, kMuchMore = 1e4;  // an epsilon has to grow a lot before it matters
  const double factor = std::fabs(before) < kSmall ? kMuchMore : drawn_factor(rng);
  const double after = before == 0 ? 1 : core::round_to_type(before * factor, core::DType::float32);
  node.attributes[place->second] = after;
  return defect_at(node, fmt::format("{} {} instead of {}", place->second, after, before));
}

std::optional<Defect> integer_attribute(Draft& draft, Rng& rng) {
  const auto places = attributes_of<std::int64_t>(draft.graph, [](const std::string&, std::int64_t) { return true; });
  const auto* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->first];
  const std::int64_t before = node.int_or(place->second, 0);
  const std::int64_t after = before == 0 ? 1 : before == 1 ? 0 : before + (rng.uniform() < 1.0 / 2 ? -1 : 1);
  node.attributes[place->second] = after;
  return defect_at(node, fmt::format("{} {} instead of {}", place->second, after, before));
}

std::optional<Defect> list_attribute(Draft& draft, Rng& rng) {
  using Ints = std::vector<std::int64_t>;
  const auto places = attributes_of<Ints>(
      draft.graph, [](const std::string& name, const Ints& held) { return name != "pads" && !held.empty(); });
  const auto* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->first];
  const Ints before = node.ints_or(place->second);
  Ints after = before;
  const auto count = static_cast<std::int64_t>(after.size());
  const std::size_t a = pick_index(count, rng), b = pick_index(count, rng);
  if (after[a] != after[b]) {
    std::swap(after[a], after[b]);
  } else {
    after[a] += after[a] > 1 && rng.uniform() < 1.0 / 2 ? -1 : 1;
  }
  node.attributes[place->second] = after;
  return defect_at(
      node, fmt::format("{} [{}] instead of [{}]", place->second, fmt::join(after, ","), fmt::join(before, ",")));
}

namespace {

/// Words that an attribute may be, where it is one of these.
const std::vector<std::string>& words_like(const std::string& word) {
  static const std::vector<std::vector<std::string>> kWords{
      {"nearest", "linear", "cubic"},
      {"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel"},
      {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"},
      {"constant", "edge", "reflect"},
      {"SAME_UPPER", "SAME_LOWER"},
      {"none", "tanh"},
      {"DCR", "CRD"},
      {"forward", "reverse"}};
  static const std::vector<std::string> kNone;
  const auto found =
      std::ranges::find_if(kWords, [&](const auto& words) { return std::ranges::find(words, word) != words.end(); });
  return found == kWords.end() ? kNone : *found;
}

}  // namespace

std::optional<Defect> word_attribute(Draft& draft, Rng& rng) {
  const auto places = attributes_of<std::string>(
      draft.graph, [](const std::string&, const std::string& word) { return !words_like(word).empty(); });
  const auto* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Node& node = draft.graph.nodes[place->first];
  const std::string before = node.string_or(place->second, "");
  std::vector<std::string> others = words_like(before);
  std::erase(others, before);
  const std::string after = *pick(others, rng);
  node.attributes[place->second] = after;
  return defect_at(node, fmt::format("{} {} instead of {}", place->second, after, before));
}

}  // namespace assay::mutants::rows
