#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/mutants/artifact_mutations.hpp"

/// What the kinds of defects share: where one can stand, how large it is, and how a graph is changed.
namespace assay::mutants::rows {

inline constexpr std::size_t kScaleInput = 1, kZeroPointInput = 2;

/// One of `choices`; null where there is none.
template <typename T>
const T* pick(const std::vector<T>& choices, core::Rng& rng) {
  if (choices.empty()) return nullptr;
  return &choices[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(choices.size()) - 1))];
}
/// An index below `count`.
[[nodiscard]] std::size_t pick_index(std::int64_t count, core::Rng& rng);
/// By how much a scale or constant is wrong.
[[nodiscard]] double drawn_factor(core::Rng& rng);
/// A code of the type that lies at least `least` from `code`.
[[nodiscard]] std::int64_t other_code(std::int64_t code, core::DType type, std::int64_t least, core::Rng& rng);
/// The same nearby: a zero point that is off by some steps.
[[nodiscard]] std::int64_t near_code(std::int64_t code, core::DType type, core::Rng& rng);

[[nodiscard]] Defect defect_at(const model::Node& node, std::string what);

/// Indices of the nodes that `fits` says yes to.
template <typename Fits>
std::vector<std::size_t> nodes_where(const model::Graph& graph, const Fits& fits) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (fits(graph.nodes[i])) found.push_back(i);
  }
  return found;
}
[[nodiscard]] bool is_op(const model::Node& node, std::string_view op);
[[nodiscard]] bool quantizes(const model::Node& node);
[[nodiscard]] bool dequantizes(const model::Node& node);
/// Neither a quantizer nor a Constant.
[[nodiscard]] bool computes(const model::Node& node);
/// An input of a node, by indices.
struct Operand {
  std::size_t node = 0, input = 0;
};

/// Gives input `input` of a node a constant of its own.
void set_constant(model::Graph& graph, std::size_t node, std::size_t input, core::Tensor value);
/// The constant that a node reads there, or null.
[[nodiscard]] core::TensorPtr constant_input(const model::Graph& graph, const model::Node& node, std::size_t input);
/// `tensor` with element `index` set.
[[nodiscard]] core::Tensor with_element(const core::Tensor& tensor, std::size_t index, double value);
[[nodiscard]] core::Tensor times(const core::Tensor& tensor, double factor);

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
[[nodiscard]] std::vector<Pair> pairs_of(const model::Graph& graph);
/// DequantizeLinears of constant codes, of int32 (biases) or of anything else.
[[nodiscard]] std::vector<std::size_t> constant_codes(const model::Graph& graph, bool biases);

/// Whether somebody may read `other` wherever `tensor` is read: where it is an output of the graph or a body reads it,
/// the name has to stay.
[[nodiscard]] bool can_be_rewired(const model::Graph& graph, const std::string& tensor);
/// Readers of `tensor` read `other`.
void rewire(model::Graph& graph, const std::string& tensor, const std::string& other);

}  // namespace assay::mutants::rows
