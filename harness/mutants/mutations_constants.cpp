// Weights, biases and what stayed in float.
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

}  // namespace

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
  const std::int64_t before = codes->to_integers()[element];
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

namespace {

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

}  // namespace

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

}  // namespace assay::mutants::rows
