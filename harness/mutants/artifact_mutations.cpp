#include "harness/mutants/artifact_mutations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

namespace assay::mutants {
namespace {

using core::Rng;
using core::Tensor;
using core::TensorPtr;
using model::Graph;
using model::Node;

constexpr std::size_t kScaleInput = 1, kZeroPointInput = 2;

template <typename T>
const T* pick(const std::vector<T>& choices, Rng& rng) {
  if (choices.empty()) return nullptr;
  return &choices[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(choices.size()) - 1))];
}

std::size_t pick_index(std::int64_t count, Rng& rng) { return static_cast<std::size_t>(rng.integer(0, count - 1)); }

/// By how much a scale or constant is wrong.
double drawn_factor(Rng& rng) {
  static const std::vector<double> kFactors{0.5, 0.75, 1.5, 2, 4};
  return *pick(kFactors, rng);
}

Defect defect_at(const Node& node, std::string what) { return {node.name, node.op_type, std::move(what)}; }

/// Indices of the nodes that `fits` says yes to.
template <typename Fits>
std::vector<std::size_t> nodes_where(const Graph& graph, const Fits& fits) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (fits(graph.nodes[i])) found.push_back(i);
  }
  return found;
}

bool is_op(const Node& node, std::string_view op) { return node.op_type == op; }
bool quantizes(const Node& node) { return is_op(node, "QuantizeLinear"); }
bool dequantizes(const Node& node) { return is_op(node, "DequantizeLinear"); }
bool computes(const Node& node) { return !model::is_quantizer(node) && !is_op(node, "Constant"); }

/// Gives input `input` of a node a constant of its own.
void set_constant(Graph& graph, std::size_t node, std::size_t input, Tensor value) {
  const std::string name = model::fresh_name(graph, graph.nodes[node].inputs[input] + "_changed");
  graph.initializers[name] = std::make_shared<const Tensor>(std::move(value));
  graph.nodes[node].inputs[input] = name;
}

/// `tensor` with element `index` set.
Tensor with_element(const Tensor& tensor, std::size_t index, double value) {
  Tensor changed = tensor;
  if (changed.is_real()) {
    changed.reals()[index] = value;
    return core::rounded_to_type(std::move(changed));
  }
  changed.integers()[index] = static_cast<std::int64_t>(std::llround(value));
  return changed;
}

Tensor times(const Tensor& tensor, double factor) {
  Tensor changed = tensor;
  for (double& value : changed.reals()) value *= factor;
  return core::rounded_to_type(std::move(changed));
}

/// A code of the type that lies at least `least` from `code`.
std::int64_t other_code(std::int64_t code, core::DType type, std::int64_t least, Rng& rng) {
  const core::IntegerLimits limits = core::integer_limits(type);
  for (;;) {
    const std::int64_t other = rng.integer(limits.low, limits.high);
    if (std::abs(other - code) >= least) return other;
  }
}

/// The same nearby: a zero point that is off by some steps.
std::int64_t near_code(std::int64_t code, core::DType type, Rng& rng) {
  constexpr std::int64_t kMostSteps = 32;
  const core::IntegerLimits limits = core::integer_limits(type);
  for (;;) {
    const std::int64_t moved = code + rng.integer(-kMostSteps, kMostSteps);
    if (moved != code && moved >= limits.low && moved <= limits.high) return moved;
  }
}

// Quantizers

/// A QuantizeLinear of an activation and the DequantizeLinears that read its codes; all parameters constant.
struct Pair {
  std::size_t quantize = 0;
  std::vector<std::size_t> dequantize;
  [[nodiscard]] std::vector<std::size_t> all() const {
    std::vector<std::size_t> nodes = dequantize;
    nodes.insert(nodes.begin(), quantize);
    return nodes;
  }
};

TensorPtr constant_input(const Graph& graph, const Node& node, std::size_t input) {
  return node.input(input).empty() ? nullptr : constant_of(graph, node.input(input));
}

std::vector<Pair> pairs_of(const Graph& graph) {
  std::vector<Pair> pairs;
  for (const std::size_t index : nodes_where(graph, quantizes)) {
    const Node& node = graph.nodes[index];
    if (constant_input(graph, node, 0) != nullptr || constant_input(graph, node, kScaleInput) == nullptr) continue;
    Pair pair{index, nodes_where(graph, [&](const Node& reader) {
                return dequantizes(reader) && reader.input(0) == node.outputs.front() &&
                       constant_of(graph, reader.input(kScaleInput)) != nullptr;
              })};
    if (!pair.dequantize.empty()) pairs.push_back(std::move(pair));
  }
  return pairs;
}

/// DequantizeLinears of constant codes, of int32 (biases) or of anything else.
std::vector<std::size_t> constant_codes(const Graph& graph, bool biases) {
  return nodes_where(graph, [&](const Node& node) {
    if (!dequantizes(node)) return false;
    const TensorPtr codes = constant_input(graph, node, 0), scale = constant_input(graph, node, kScaleInput);
    return codes != nullptr && scale != nullptr && codes->size() > 0 && !codes->is_real() &&
           (codes->type() == core::DType::int32) == biases;
  });
}

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
      return zero == nullptr || zero->size() != 1;
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
      if (zero != nullptr && zero->size() == 1) sides.push_back(node);
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

/// Input `input` of the two: do they differ?
bool differ(const Graph& graph, const Pair& a, const Pair& b, std::size_t input) {
  const TensorPtr x = constant_input(graph, graph.nodes[a.quantize], input);
  const TensorPtr y = constant_input(graph, graph.nodes[b.quantize], input);
  return (x == nullptr) != (y == nullptr) || (x != nullptr && *x != *y);
}

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

// What is constant

std::optional<Defect> channel_scale_of(Draft& draft, Rng& rng, bool biases) {
  const std::vector<std::size_t> places = constant_codes(draft.graph, biases);
  const std::size_t* node = pick(places, rng);
  if (node == nullptr) return std::nullopt;
  const TensorPtr before = constant_input(draft.graph, draft.graph.nodes[*node], kScaleInput);
  const std::size_t channel = pick_index(before->size(), rng);
  const double factor = drawn_factor(rng);
  set_constant(draft.graph, *node, kScaleInput, with_element(*before, channel, before->reals()[channel] * factor));
  return defect_at(draft.graph.nodes[*node], fmt::format("scale [{}] times {}", channel, factor));
}

std::optional<Defect> weight_scale(Draft& draft, Rng& rng) { return channel_scale_of(draft, rng, false); }
std::optional<Defect> bias_scale(Draft& draft, Rng& rng) { return channel_scale_of(draft, rng, true); }

std::optional<Defect> weight_zero_point(Draft& draft, Rng& rng) {
  std::vector<std::size_t> places = constant_codes(draft.graph, false);
  std::erase_if(places, [&](std::size_t node) {
    const TensorPtr zero = constant_input(draft.graph, draft.graph.nodes[node], kZeroPointInput);
    return zero == nullptr || zero->is_real() || zero->size() == 0;
  });
  const std::size_t* node = pick(places, rng);
  if (node == nullptr) return std::nullopt;
  const TensorPtr zero = constant_input(draft.graph, draft.graph.nodes[*node], kZeroPointInput);
  const std::size_t channel = pick_index(zero->size(), rng);
  const std::int64_t before = zero->integers()[channel], moved = near_code(before, zero->type(), rng);
  set_constant(draft.graph, *node, kZeroPointInput, with_element(*zero, channel, static_cast<double>(moved)));
  return defect_at(draft.graph.nodes[*node],
                   fmt::format("zero point [{}] is {} instead of {}", channel, moved, before));
}

/// The scales of the channels, each one channel further.
std::optional<Defect> channel_scales_rolled(Draft& draft, Rng& rng) {
  const std::vector<std::size_t> places = nodes_where(draft.graph, [&](const Node& node) {
    const TensorPtr scales = model::is_quantizer(node) ? constant_input(draft.graph, node, kScaleInput) : TensorPtr();
    return scales != nullptr && scales->size() > 1 &&
           std::ranges::any_of(scales->reals(), [&](double value) { return value != scales->reals().front(); });
  });
  const std::size_t* node = pick(places, rng);
  if (node == nullptr) return std::nullopt;
  Tensor scales = *constant_input(draft.graph, draft.graph.nodes[*node], kScaleInput);
  std::rotate(scales.reals().begin(), scales.reals().begin() + 1, scales.reals().end());
  set_constant(draft.graph, *node, kScaleInput, std::move(scales));
  return defect_at(draft.graph.nodes[*node], "every channel has the next one's scale");
}

std::optional<Defect> weight_value(Draft& draft, Rng& rng) {
  const std::vector<std::size_t> places = constant_codes(draft.graph, false);
  const std::size_t* node = pick(places, rng);
  if (node == nullptr) return std::nullopt;
  const TensorPtr codes = constant_input(draft.graph, draft.graph.nodes[*node], 0);
  const std::size_t element = pick_index(codes->size(), rng);
  const core::IntegerLimits limits = core::integer_limits(codes->type());
  constexpr std::int64_t kLeastShare = 8;  // of the type's range
  const std::int64_t before = codes->integers()[element];
  const std::int64_t after = other_code(before, codes->type(), (limits.high - limits.low) / kLeastShare, rng);
  set_constant(draft.graph, *node, 0, with_element(*codes, element, static_cast<double>(after)));
  return defect_at(draft.graph.nodes[*node], fmt::format("quantized value {} of \"{}\" is {} instead of {}", element,
                                                         draft.graph.nodes[*node].inputs.front(), after, before));
}

std::optional<Defect> bias(Draft& draft, Rng& rng) {
  const std::vector<std::size_t> places = constant_codes(draft.graph, true);
  const std::size_t* node = pick(places, rng);
  if (node == nullptr) return std::nullopt;
  const TensorPtr codes = constant_input(draft.graph, draft.graph.nodes[*node], 0);
  std::int64_t largest = 0;
  for (const std::int64_t code : codes->integers()) largest = std::max(largest, std::abs(code));
  constexpr std::int64_t kLeast = 1000;
  const auto span = static_cast<double>(std::max(largest, kLeast));
  const std::size_t element = pick_index(codes->size(), rng);
  constexpr double kSmallest = 0.25;
  const double moved = std::round(span * rng.uniform(kSmallest, 1) * (rng.uniform() < 1.0 / 2 ? -1 : 1));
  const std::int64_t before = codes->integers()[element];
  set_constant(draft.graph, *node, 0, with_element(*codes, element, static_cast<double>(before) + moved));
  return defect_at(draft.graph.nodes[*node], fmt::format("quantized bias [{}] is {} instead of {}", element,
                                                         before + static_cast<std::int64_t>(moved), before));
}

struct Operand {
  std::size_t node = 0, input = 0;
};

/// Inputs of computing nodes that are constants for which `fits`.
template <typename Fits>
std::vector<Operand> constant_operands(const Graph& graph, const Fits& fits) {
  std::vector<Operand> operands;
  for (const std::size_t node : nodes_where(graph, computes)) {
    for (std::size_t input = 0; input < graph.nodes[node].inputs.size(); ++input) {
      const TensorPtr value = constant_input(graph, graph.nodes[node], input);
      if (value != nullptr && value->size() > 0 && fits(*value)) operands.push_back({node, input});
    }
  }
  return operands;
}

std::optional<Defect> float_constant(Draft& draft, Rng& rng) {
  const std::vector<Operand> places =
      constant_operands(draft.graph, [](const Tensor& value) { return value.is_real(); });
  const Operand* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  const TensorPtr before = constant_input(draft.graph, draft.graph.nodes[place->node], place->input);
  const std::size_t element = pick_index(before->size(), rng);
  const double value = before->reals()[element];
  const double after = value == 0 ? 1 : value * (rng.uniform() < 1.0 / 2 ? -1 : drawn_factor(rng));
  set_constant(draft.graph, place->node, place->input, with_element(*before, element, after));
  return defect_at(draft.graph.nodes[place->node],
                   fmt::format("input {}: float value {} is {} instead of {}", place->input, element, after, value));
}

std::optional<Defect> integer_constant(Draft& draft, Rng& rng) {
  const std::vector<Operand> places =
      constant_operands(draft.graph, [](const Tensor& value) { return !value.is_real(); });
  const Operand* place = pick(places, rng);
  if (place == nullptr) return std::nullopt;
  Tensor value = *constant_input(draft.graph, draft.graph.nodes[place->node], place->input);
  const std::size_t element = pick_index(value.size(), rng), other = pick_index(value.size(), rng);
  const std::int64_t before = value.integers()[element];
  if (value.type() == core::DType::boolean) {
    value.integers()[element] = 1 - before;
  } else if (before != value.integers()[other]) {
    std::swap(value.integers()[element], value.integers()[other]);
  } else {
    value.integers()[element] += rng.uniform() < 1.0 / 2 ? -1 : 1;
  }
  const std::int64_t after = value.integers()[element];
  set_constant(draft.graph, place->node, place->input, std::move(value));
  return defect_at(draft.graph.nodes[place->node],
                   fmt::format("input {}: integer {} is {} instead of {}", place->input, element, after, before));
}

// Attributes

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

// Nodes and what they read

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

/// Readers of `tensor` read `other`. Where it is an output of the graph or a body reads it, the name has to stay.
bool can_be_rewired(const Graph& graph, const std::string& tensor) {
  if (graph.find_output(tensor) != nullptr) return false;
  return std::ranges::none_of(graph.nodes, [&](const Node& node) {
    const std::vector<std::string> captured = model::captured_names(node);
    return std::ranges::find(captured, tensor) != captured.end();
  });
}
void rewire(Graph& graph, const std::string& tensor, const std::string& other) {
  for (Node& node : graph.nodes) std::ranges::replace(node.inputs, tensor, other);
}

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

constexpr std::array kTable{
    MutationRow{"scale", "an activation's scale, on both sides of its pair", &scale},
    MutationRow{"zero_point", "an activation's zero point, on both sides of its pair", &zero_point},
    MutationRow{"one_side_scale", "a scale on one side of a pair alone", &one_side_scale},
    MutationRow{"one_side_zero_point", "a zero point on one side of a pair alone", &one_side_zero_point},
    MutationRow{"other_quantizer", "a pair has the parameters of another tensor", &other_quantizer},
    MutationRow{"pair_removed", "a tensor is not quantized", &pair_removed},
    MutationRow{"pair_added", "a tensor is rounded twice", &pair_added},
    MutationRow{"weight_scale", "one scale of a weight", &weight_scale},
    MutationRow{"weight_zero_point", "one zero point of a weight", &weight_zero_point},
    MutationRow{"weight_value", "one quantized value of a weight", &weight_value},
    MutationRow{"channel_scales", "per-axis scales, each that of the next channel", &channel_scales_rolled},
    MutationRow{"quantizer_axis", "per-axis scales along another axis", &quantizer_axis},
    MutationRow{"bias", "one quantized value of a bias", &bias},
    MutationRow{"bias_scale", "one scale of a bias", &bias_scale},
    MutationRow{"float_constant", "one value of a constant that stayed in float", &float_constant},
    MutationRow{"integer_constant", "one value of a list of integers: a shape, indices, pads", &integer_constant},
    MutationRow{"pads", "pads moved by one, the shape kept", &pads},
    MutationRow{"float_attribute", "a number: epsilon, alpha, beta", &float_attribute},
    MutationRow{"integer_attribute", "an integer: axis, group, keepdims", &integer_attribute},
    MutationRow{"list_attribute", "a list: strides, dilations, perm, axes", &list_attribute},
    MutationRow{"word_attribute", "a word: mode, rounding, padding", &word_attribute},
    MutationRow{"operands_swapped", "two inputs of one node swapped", &operands_swapped},
    MutationRow{"operand_twice", "one input of a node read twice", &operand_twice},
    MutationRow{"operand_of_another", "a node reads another tensor of the same shape", &operand_of_another},
    MutationRow{"node_removed", "a node is left out", &node_removed},
    MutationRow{"node_doubled", "a node is done twice", &node_doubled},
};

}  // namespace

std::span<const MutationRow> mutation_table() { return kTable; }

std::optional<Mutant> make_mutant(const model::Model& artifact, const std::vector<ArtifactGraph>& graphs,
                                  std::uint64_t seed, std::string_view label, std::size_t index) {
  Rng rng(seed, fmt::format("{}#{}", label, index));
  constexpr std::size_t kTries = 64;
  for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
    const std::size_t row = attempt == 0 ? index % kTable.size() : pick_index(std::ssize(kTable), rng);
    const ArtifactGraph& where = *pick(graphs, rng);
    Draft draft{*where.graph, where.tensors};
    std::optional<Defect> defect = kTable[row].apply(draft, rng);
    if (!defect) continue;
    return Mutant{edited(artifact, where.path, [&](Graph& graph) { graph = std::move(draft.graph); }), kTable[row].kind,
                  *std::move(defect)};
  }
  return std::nullopt;
}

}  // namespace assay::mutants
