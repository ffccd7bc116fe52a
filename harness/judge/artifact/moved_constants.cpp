#include "harness/judge/artifact/moved_constants.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/free_names.hpp"
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
      : result_(artifact),
        graph_(artifact.graph),
        wiring_(artifact.graph),
        constants_(constants_of(artifact.graph)),
        names_(artifact.graph) {}

  /// Each constant by the first node that moves it; nothing where none is.
  std::optional<model::Model> write() {
    bool any = false;
    result_.graph.nodes.clear();
    for (const Node& node : graph_.nodes) {
      const Node* dequantize = may_move(node) ? maker(node.input(0)) : nullptr;
      if (dequantize != nullptr && is_dequantize(*dequantize) && write_moved(*dequantize, node)) {
        any = true;
      } else {
        result_.graph.nodes.push_back(node);
      }
    }
    if (!any) return std::nullopt;
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

  /// Where the axis of the quantizer's scales lies after the move; nothing where its indices are neighbours no more.
  static std::optional<std::int64_t> moved_axis(const Node& quantizer, const Node& move, const core::Shape& from,
                                                const core::Shape& to) {
    const auto rank = static_cast<std::int64_t>(from.size());
    std::int64_t axis = quantizer.int_or("axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    if (move.op_type == "Transpose") {
      std::vector<std::int64_t> order = move.ints_or("perm");
      if (order.empty()) return rank - 1 - axis;
      const auto found = std::ranges::find(order, axis);
      return found == order.end() ? std::nullopt : std::optional(found - order.begin());
    }
    // Blocks would have to be reshaped alike.
    if (quantizer.int_or("block_size", 0) != 0) return std::nullopt;
    const auto before = [](const core::Shape& shape, std::int64_t index) {
      return std::accumulate(shape.begin(), shape.begin() + index, std::int64_t{1}, std::multiplies<>());
    };
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.size()); ++i) {
      const bool same = to[static_cast<std::size_t>(i)] == from[static_cast<std::size_t>(axis)];
      if (same && before(to, i) == before(from, axis)) return i;
    }
    return std::nullopt;
  }

  bool write_moved(const Node& dequantize, const Node& move) {
    const Node* quantize = quantizer_of_constant(dequantize.input(0));
    const TensorPtr codes = find_constant(constants_, quantize != nullptr ? quantize->input(0) : dequantize.input(0));
    const TensorPtr scale = find_constant(constants_, dequantize.input(1));
    if (codes == nullptr || scale == nullptr) return false;
    const auto moved_codes = move_constant(*codes, move);
    if (!moved_codes) return false;
    std::optional<std::int64_t> axis;
    if (scale->size() > 1) {
      axis = moved_axis(dequantize, move, codes->shape(), moved_codes->shape());
      if (!axis) return false;
    }
    auto moved = moved_constant(quantize != nullptr ? quantize->input(0) : dequantize.input(0), move);
    if (!moved) return false;
    if (quantize != nullptr) {
      const auto target = names_.fresh(std::string(dequantize.input(0)) + "_moved");
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
    if (wiring_.consumers(quantizer.outputs.front()).size() > 1) made.name = names_.fresh(quantizer.name + "_moved");
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

  [[nodiscard]] std::optional<Tensor> move_constant(const Tensor& value, const Node& move) const {
    std::vector<const Tensor*> inputs{&value};
    for (std::size_t i = 1; i < move.inputs.size(); ++i) {
      const TensorPtr other = find_constant(constants_, move.inputs[i]);
      if (other == nullptr && !move.inputs[i].empty()) return std::nullopt;
      inputs.push_back(other.get());
    }
    auto outputs = reference::execute_node(move, result_.opset(), inputs);
    return outputs ? std::optional(std::move(outputs->front())) : std::nullopt;
  }

  /// The constant `name` moved; one that is made of codes with one scale is made of the moved codes.
  std::optional<std::string> moved_constant(std::string_view name, const Node& move) {
    if (const Node* made = maker(name); made != nullptr && is_dequantize(*made)) {
      auto codes = moved_constant(made->input(0), move);
      if (!codes) return std::nullopt;
      Node copy = *made;
      copy.inputs[0] = *codes;
      copy.outputs = {names_.fresh(std::string(name) + "_moved")};
      copy.name = copy.outputs.front();
      bypassed_.insert(std::string(name));
      result_.graph.nodes.push_back(copy);
      return copy.outputs.front();
    }
    const TensorPtr value = find_constant(constants_, name);
    if (value == nullptr) return std::nullopt;
    auto result = move_constant(*value, move);
    if (!result) return std::nullopt;
    const auto target = names_.fresh(std::string(name) + "_moved");
    result_.graph.initializers[target] = std::make_shared<const Tensor>(*std::move(result));
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

  model::Model result_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  Constants constants_;
  FreeNames names_;
  std::set<std::string, std::less<>> bypassed_;
};

/// A node that moves reads what a DequantizeLinear makes: few artifacts have one, and the others aren't copied.
bool moves_values_of_codes(const model::Graph& graph) {
  std::set<std::string_view> made;
  for (const Node& node : graph.nodes)
    if (is_dequantize(node) && !node.outputs.empty()) made.insert(node.outputs.front());
  return std::ranges::any_of(graph.nodes,
                             [&](const Node& node) { return may_move(node) && made.contains(node.input(0)); });
}

}  // namespace

std::shared_ptr<const model::Model> with_moved_constants(std::shared_ptr<const model::Model> artifact) {
  while (moves_values_of_codes(artifact->graph)) {
    auto moved = Mover(*artifact).write();
    if (!moved) break;
    artifact = std::make_shared<const model::Model>(*std::move(moved));
  }
  return artifact;
}

}  // namespace assay::judge
