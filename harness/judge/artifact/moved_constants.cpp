#include "harness/judge/artifact/moved_constants.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

bool is_dequantize(const Node& node) { return node.op_type == "DequantizeLinear"; }

bool may_move(const Node& node) {
  const Movement movement = traits_of(node).movement;
  return node.outputs.size() == 1 && (movement == Movement::permutes || movement == Movement::reshapes);
}

class Mover {
 public:
  explicit Mover(const model::Model& artifact)
      : result_(artifact), graph_(artifact.graph), wiring_(artifact.graph), constants_(constants_of(artifact.graph)) {
    for (const Node& node : graph_.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
    for (const model::ValueInfo& input : graph_.inputs) taken_.insert(input.name);
    for (const auto& [name, tensor] : graph_.initializers) taken_.insert(name);
  }

  model::Model write() {
    result_.graph.nodes.clear();
    for (const Node& node : graph_.nodes) {
      const Node* dequantize = may_move(node) ? maker(node.input(0)) : nullptr;
      if (dequantize == nullptr || !is_dequantize(*dequantize) || !write_moved(*dequantize, node))
        result_.graph.nodes.push_back(node);
    }
    drop_bypassed();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Node* maker(std::string_view tensor) const {
    const auto index = wiring_.producer(std::string(tensor));
    return index ? &graph_.nodes[*index] : nullptr;
  }

  /// What a QuantizeLinear makes a constant's codes of, or null.
  [[nodiscard]] const Node* quantizer_of_constant(std::string_view codes) const {
    const Node* node = maker(codes);
    const bool quantizes = node != nullptr && node->op_type == "QuantizeLinear";
    return quantizes && find_constant(constants_, node->input(0)) != nullptr ? node : nullptr;
  }

  bool write_moved(const Node& dequantize, const Node& move) {
    const Node* quantize = quantizer_of_constant(dequantize.input(0));
    const TensorPtr codes = find_constant(constants_, quantize != nullptr ? quantize->input(0) : dequantize.input(0));
    const TensorPtr scale = find_constant(constants_, dequantize.input(1));
    if (codes == nullptr || scale == nullptr) return false;
    const bool permutes = move.op_type == "Transpose";
    if (!permutes && scale->size() != 1) return false;
    const std::int64_t rank = codes->rank();
    std::vector<std::int64_t> order = move.ints_or("perm");
    if (permutes && order.empty()) {
      order.resize(codes->shape().size());
      std::iota(order.rbegin(), order.rend(), 0);
    }
    std::optional<std::int64_t> axis;
    if (scale->size() > 1) {
      const std::int64_t own = dequantize.int_or("axis", 1);
      const auto found = std::ranges::find(order, own < 0 ? own + rank : own);
      if (found == order.end()) return false;
      axis = found - order.begin();
    }
    auto moved = moved_constant(quantize != nullptr ? quantize->input(0) : dequantize.input(0), move);
    if (!moved) return false;
    if (quantize != nullptr) {
      const auto target = fresh(std::string(dequantize.input(0)) + "_moved");
      if (!write_like(*quantize, move, *moved, axis, target)) return false;
      moved = target;
    }
    return write_like(dequantize, move, *moved, axis, move.outputs.front());
  }

  /// `quantizer` reading `from`, with its parameters where blocks of these are moved, too.
  bool write_like(const Node& quantizer, const Node& move, const std::string& from, std::optional<std::int64_t> axis,
                  const std::string& to) {
    Node made = quantizer;
    made.inputs[0] = from;
    made.outputs = {to};
    if (to != move.outputs.front()) made.name = fresh(quantizer.name + "_moved");
    if (to == move.outputs.front() && wiring_.consumers(quantizer.outputs.front()).size() > 1)
      made.name = fresh(quantizer.name + "_moved");
    if (axis) made.attributes["axis"] = *axis;
    const TensorPtr scale = find_constant(constants_, quantizer.input(1));
    for (std::size_t i = 1; i < made.inputs.size() && scale->rank() > 1; ++i) {
      if (made.inputs[i].empty()) continue;
      auto moved = moved_constant(made.inputs[i], move);
      if (!moved) return false;
      made.inputs[i] = *moved;
    }
    bypassed_.insert(quantizer.outputs.front());
    result_.graph.nodes.push_back(std::move(made));
    return true;
  }

  /// The constant `name` moved; one that is made of codes with one scale is made of the moved codes.
  std::optional<std::string> moved_constant(std::string_view name, const Node& move) {
    if (const Node* made = maker(name); made != nullptr && is_dequantize(*made)) {
      auto codes = moved_constant(made->input(0), move);
      if (!codes) return std::nullopt;
      Node copy = *made;
      copy.inputs[0] = *codes;
      copy.outputs = {fresh(std::string(name) + "_moved")};
      copy.name = copy.outputs.front();
      bypassed_.insert(std::string(name));
      result_.graph.nodes.push_back(copy);
      return copy.outputs.front();
    }
    const TensorPtr value = find_constant(constants_, name);
    if (value == nullptr) return std::nullopt;
    std::vector<const Tensor*> inputs{value.get()};
    for (std::size_t i = 1; i < move.inputs.size(); ++i) {
      const TensorPtr other = find_constant(constants_, move.inputs[i]);
      if (other == nullptr && !move.inputs[i].empty()) return std::nullopt;
      inputs.push_back(other.get());
    }
    auto outputs = reference::execute_node(move, result_.opset(), inputs);
    if (!outputs) return std::nullopt;
    const auto target = fresh(std::string(name) + "_moved");
    result_.graph.initializers[target] = std::make_shared<const Tensor>(std::move(outputs->front()));
    return target;
  }

  /// What was bypassed and is read by nobody else any more.
  void drop_bypassed() {
    bool dropped = true;
    while (dropped) {
      std::set<std::string, std::less<>> read;
      for (const Node& node : result_.graph.nodes) {
        read.insert(node.inputs.begin(), node.inputs.end());
        for (const std::string& captured : model::captured_names(node)) read.insert(captured);
      }
      dropped = std::erase_if(result_.graph.nodes, [&](const Node& node) {
                  const std::string& made = node.outputs.empty() ? "" : node.outputs.front();
                  return bypassed_.contains(made) && !read.contains(made) && !wiring_.is_output(made);
                }) != 0;
    }
  }

  std::string fresh(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  model::Model result_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  Constants constants_;
  std::set<std::string, std::less<>> taken_, bypassed_;
};

/// A node that moves reads what a DequantizeLinear makes.
bool moves_values_of_codes(const model::Graph& graph) {
  std::set<std::string_view> made;
  for (const Node& node : graph.nodes) {
    if (is_dequantize(node) && !node.outputs.empty()) made.insert(node.outputs.front());
    if (may_move(node) && made.contains(node.input(0))) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<const model::Model> with_moved_constants(std::shared_ptr<const model::Model> artifact) {
  if (!moves_values_of_codes(artifact->graph)) return artifact;
  return std::make_shared<const model::Model>(Mover(*artifact).write());
}

}  // namespace assay::judge
