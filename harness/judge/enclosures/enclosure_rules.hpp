#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/judge/enclosures/enclosure.hpp"

// Inside of enclose_node: what its rules, each about one kind of operator, share. Not for others.
namespace assay::judge::rules {

using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;
using Outputs = std::vector<Enclosure>;

/// What a rule sees: the node with its inputs' enclosures, null where left out.
struct Call {
  const Node& node;
  std::int64_t opset;
  std::span<const Enclosure* const> inputs;
  const Arithmetic& arithmetic;
};

[[nodiscard]] core::Error no_bound(const Node& node, std::string_view why);
/// The node's exact outputs on some choice of inputs.
[[nodiscard]] Result<std::vector<Tensor>> run(const Call& call, std::span<const TensorPtr> inputs);

/// The inputs with `pick` applied to those that are there.
template <typename Pick>
std::vector<TensorPtr> pick_each(const Call& call, Pick pick) {
  std::vector<TensorPtr> picked;
  picked.reserve(call.inputs.size());
  for (const Enclosure* input : call.inputs) {
    picked.push_back(input == nullptr ? nullptr : pick(*input));
  }
  return picked;
}

[[nodiscard]] inline TensorPtr centre_of(const Enclosure& e) { return e.centre; }
[[nodiscard]] inline TensorPtr low_of(const Enclosure& e) { return e.is_point() ? e.centre : e.low; }
[[nodiscard]] inline TensorPtr high_of(const Enclosure& e) { return e.is_point() ? e.centre : e.high; }
/// Largest magnitude that the enclosed values reach, `relative` left out.
[[nodiscard]] TensorPtr magnitude_of(const Enclosure& e);

[[nodiscard]] bool all_points(const Call& call);
[[nodiscard]] bool all_exact(const Call& call);
/// Steps of all inputs, each once.
[[nodiscard]] std::vector<double> all_steps(const Call& call);
[[nodiscard]] double largest_relative(const Call& call);
[[nodiscard]] Outputs exact_outputs(std::vector<Tensor> values);
/// Moves the ends of `output` outwards by `radius`.
void widen(Enclosure& output, std::span<const double> radius);
/// The call's inputs with every `relative` moved into the ends; `storage` keeps them alive.
[[nodiscard]] std::vector<const Enclosure*> explicit_inputs(const Call& call, std::vector<Enclosure>& storage);
/// Outputs at the centre, the lows and the highs of the inputs, for operators that grow with every input.
[[nodiscard]] Result<Outputs> at_ends(const Call& call);
/// Product of the extents from index `from` on.
[[nodiscard]] double extent_product(std::span<const std::int64_t> extents, std::size_t from = 0);

// IEEE 754 demands nothing of these functions. C libraries document errors up to 4 units, and the rational
// approximations in inference engines are made for a few units of the function's largest value, not of each value.
inline constexpr double kFunctionUnits = 16;

// enclosure_normalizations.cpp
[[nodiscard]] Result<Outputs> enclose_normalization(const Call& call);
[[nodiscard]] Result<Outputs> enclose_norm(const Call& call);

// enclosure_recurrent.cpp: LSTM and GRU.
[[nodiscard]] Result<Outputs> enclose_recurrent(const Call& call);

// enclosure_sums.cpp: what moves, selects and sums.
[[nodiscard]] Result<Outputs> enclose_selection(const Call& call);
[[nodiscard]] Result<Outputs> enclose_max_pool(const Call& call);
[[nodiscard]] Result<Outputs> enclose_where(const Call& call);
[[nodiscard]] Result<Outputs> enclose_piecewise_linear(const Call& call);
[[nodiscard]] Result<Outputs> enclose_addition(const Call& call);
[[nodiscard]] Result<Outputs> enclose_average_pool(const Call& call);
[[nodiscard]] Result<Outputs> enclose_reduction(const Call& call);
[[nodiscard]] Result<Outputs> enclose_resize(const Call& call);

// enclosure_functions.cpp: what is computed element by element, and normalizations.
[[nodiscard]] Result<Outputs> enclose_bounded_function(const Call& call);
[[nodiscard]] Result<Outputs> enclose_exponential_unit(const Call& call);
[[nodiscard]] Result<Outputs> enclose_threshold(const Call& call);
[[nodiscard]] Result<Outputs> enclose_unbounded_function(const Call& call);
[[nodiscard]] Result<Outputs> enclose_log(const Call& call);
[[nodiscard]] Result<Outputs> enclose_root(const Call& call);
[[nodiscard]] Result<Outputs> enclose_step(const Call& call);
[[nodiscard]] Result<Outputs> enclose_hard_sigmoid(const Call& call);
[[nodiscard]] Result<Outputs> enclose_absolute(const Call& call);
[[nodiscard]] Result<Outputs> enclose_hard_swish(const Call& call);
[[nodiscard]] Result<Outputs> enclose_soft_turning(const Call& call);
[[nodiscard]] Result<Outputs> enclose_product(const Call& call);
[[nodiscard]] Result<Outputs> enclose_quotient(const Call& call);
[[nodiscard]] Result<Outputs> enclose_difference(const Call& call);
[[nodiscard]] Result<Outputs> enclose_negation(const Call& call);
[[nodiscard]] Result<Outputs> enclose_power(const Call& call);
[[nodiscard]] Result<Outputs> enclose_softmax(const Call& call);
[[nodiscard]] Result<Outputs> enclose_batch_normalization(const Call& call);

// enclosure_products.cpp: sums of products.
[[nodiscard]] Result<Outputs> enclose_bilinear(const Call& call);

}  // namespace assay::judge::rules
