#include <algorithm>
#include <cmath>
#include <utility>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/simplify.hpp"

namespace assay::embedded {
namespace {

/// HardSwish is an operator of its own from here on.
constexpr std::int64_t kHardSwishOpset = 14;
constexpr double kSixth = 1.0 / 6.0;
/// 1/6 as exporters write it: float32, sometimes with fewer digits (0.1666667).
constexpr double kSlack = 1e-6;

bool close(double a, double b) { return std::fabs(a - b) <= kSlack; }

/// Looks at the graph upwards from one node; every node passed may be read by the pattern only, and none is asked for
/// in float.
class Pattern {
 public:
  explicit Pattern(const State& state) : state_(state), graph_(state.model.graph), wiring_(graph_) {}

  /// The node that makes `tensor`, if it is an `op` that only one node reads.
  [[nodiscard]] const model::Node* made_by(std::string_view tensor, std::string_view op) const {
    const auto producer = wiring_.producer(tensor);
    if (!producer || !only_reader(graph_, wiring_, tensor)) return nullptr;
    const auto& node = graph_.nodes[*producer];
    return node.domain.empty() && node.op_type == op && !asked_in_float(state_, node) ? &node : nullptr;
  }

  [[nodiscard]] bool is_constant(std::string_view tensor, double value) const {
    const auto* constant = graph_.initializer(tensor);
    return constant != nullptr && constant->is_real() && constant->size() == 1 && close(constant->as_real(0), value);
  }

  /// The operand of `node` beside the constant `value`, or "".
  [[nodiscard]] std::string_view beside(const model::Node& node, double value, bool commutes) const {
    if (is_constant(node.input(1), value)) return node.input(0);
    if (commutes && is_constant(node.input(0), value)) return node.input(1);
    return {};
  }

  /// What `tensor` divides by six: t / 6 or t * (1/6); "" where it does not.
  [[nodiscard]] std::string_view sixth_of(const model::Node& node) const {
    if (node.op_type == "Div") return beside(node, 6, false);
    if (node.op_type == "Mul") return beside(node, kSixth, true);
    return {};
  }

  /// True where `tensor` is Clip(x + 3, 0, 6).
  [[nodiscard]] bool is_relu6_of(std::string_view tensor, std::string_view x) const {
    const auto* clip = made_by(tensor, "Clip");
    if (clip == nullptr || !is_constant(clip->input(1), 0) || !is_constant(clip->input(2), 6)) return false;
    const auto* add = made_by(clip->input(0), "Add");
    return add != nullptr && beside(*add, 3, true) == x;
  }

  /// True where `tensor` is HardSigmoid(x) = clip(x / 6 + 1/2, 0, 1), as one operator or as several.
  [[nodiscard]] bool is_hard_sigmoid_of(std::string_view tensor, std::string_view x) const {
    if (const auto* sigmoid = made_by(tensor, "HardSigmoid")) {
      return sigmoid->input(0) == x && close(sigmoid->float_or("alpha", 0.2), kSixth) &&
             close(sigmoid->float_or("beta", 0.5), 0.5);
    }
    for (const auto* op : {"Div", "Mul"}) {
      if (const auto* divided = made_by(tensor, op)) return is_relu6_of(sixth_of(*divided), x);
    }
    return false;
  }

  /// The x of a HardSwish that ends in `node`, or "".
  [[nodiscard]] std::string_view hard_swish_input(const model::Node& node) const {
    if (asked_in_float(state_, node)) return {};
    if (node.op_type == "Mul") {
      for (const std::size_t side : {0U, 1U}) {
        if (is_hard_sigmoid_of(node.input(1 - side), node.input(side))) return node.input(side);
      }
    }
    const auto* product = made_by(sixth_of(node), "Mul");
    if (product == nullptr) return {};
    for (const std::size_t side : {0U, 1U}) {
      if (is_relu6_of(product->input(1 - side), product->input(side))) return product->input(side);
    }
    return {};
  }

 private:
  const State& state_;
  const model::Graph& graph_;
  model::Wiring wiring_;
};

}  // namespace

void recognize_hard_swish(State& state) {
  auto& graph = state.model.graph;
  // The last nodes of the patterns; one pattern's nodes are no other's, so all can be found before any is changed.
  std::vector<std::pair<std::size_t, std::string>> ends;
  const Pattern pattern(state);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (const auto input = pattern.hard_swish_input(graph.nodes[i]); !input.empty()) ends.emplace_back(i, input);
  }
  if (ends.empty()) return;
  // Every other node of a pattern is read by one node only, so that following the readers leads to the pattern's end.
  const model::Wiring wiring(graph);
  std::map<std::string, std::string> heirs;
  for (auto i = graph.nodes.size(); i-- > 0;) {
    const auto& node = graph.nodes[i];
    const auto reader = only_reader(graph, wiring, node.outputs.front());
    const auto heir = reader ? heirs.find(graph.nodes[*reader].name) : heirs.end();
    if (std::ranges::any_of(ends, [i](const auto& end) { return end.first == i; })) {
      heirs[node.name] = node.name;
    } else if (heir != heirs.end()) {
      heirs[node.name] = heir->second;
    }
  }
  for (const auto& [index, input] : ends) {
    auto& node = graph.nodes[index];
    node.op_type = "HardSwish";
    node.inputs = {input};
    node.attributes.clear();
  }
  remove_dead(graph);
  for (auto& [original, computer] : state.computed_by) {
    const auto alive = [&name = computer](const auto& node) { return node.name == name; };
    if (std::ranges::any_of(graph.nodes, alive)) continue;
    if (const auto heir = heirs.find(computer); heir != heirs.end()) computer = heir->second;
  }
  auto& opset = state.model.opsets[""];
  opset = std::max(opset, kHardSwishOpset);
}

}  // namespace assay::embedded
