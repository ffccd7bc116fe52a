#include "harness/mutants/mutation_places.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

namespace assay::mutants::rows {

using core::Rng;
using core::Tensor;
using core::TensorPtr;
using model::Graph;
using model::Node;

std::size_t pick_index(std::int64_t count, Rng& rng) { return static_cast<std::size_t>(rng.integer(0, count - 1)); }

double drawn_factor(Rng& rng) {
  static const std::vector<double> kFactors{0.5, 0.75, 1.5, 2, 4};
  return *pick(kFactors, rng);
}

std::int64_t other_code(std::int64_t code, core::DType type, std::int64_t least, Rng& rng) {
  const core::IntegerLimits limits = core::integer_limits(type);
  for (;;) {
    const std::int64_t other = rng.integer(limits.low, limits.high);
    if (std::abs(other - code) >= least) return other;
  }
}

std::int64_t near_code(std::int64_t code, core::DType type, Rng& rng) {
  constexpr std::int64_t kMostSteps = 32;
  const core::IntegerLimits limits = core::integer_limits(type);
  for (;;) {
    const std::int64_t moved = code + rng.integer(-kMostSteps, kMostSteps);
    if (moved != code && moved >= limits.low && moved <= limits.high) return moved;
  }
}

Defect defect_at(const Node& node, std::string what) { return {node.name, node.op_type, std::move(what)}; }

bool is_op(const Node& node, std::string_view op) { return node.op_type == op; }
bool quantizes(const Node& node) { return is_op(node, "QuantizeLinear"); }
bool dequantizes(const Node& node) { return is_op(node, "DequantizeLinear"); }
bool computes(const Node& node) { return !model::is_quantizer(node) && !is_op(node, "Constant"); }

void set_constant(Graph& graph, std::size_t node, std::size_t input, Tensor value) {
  const std::string name = model::fresh_name(graph, graph.nodes[node].inputs[input] + "_changed");
  graph.initializers[name] = std::make_shared<const Tensor>(std::move(value));
  graph.nodes[node].inputs[input] = name;
}

TensorPtr constant_input(const Graph& graph, const Node& node, std::size_t input) {
  return node.input(input).empty() ? nullptr : constant_of(graph, node.input(input));
}

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

std::vector<std::size_t> constant_codes(const Graph& graph, bool biases) {
  return nodes_where(graph, [&](const Node& node) {
    if (!dequantizes(node)) return false;
    const TensorPtr codes = constant_input(graph, node, 0), scale = constant_input(graph, node, kScaleInput);
    return codes != nullptr && scale != nullptr && codes->size() > 0 && core::is_code_type(codes->type()) &&
           (codes->type() == core::DType::int32) == biases;
  });
}

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

}  // namespace assay::mutants::rows
