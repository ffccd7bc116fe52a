// Ranges that each inference finds: what converters and engines get wrong of them.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {
namespace {

using model::Node;

constexpr double kLastCode = 255, kLeastStep = 1e-30;

/// Puts other nodes in the place of every DynamicQuantizeLinear: `make` gets its input, and its outputs' names.
class InItsPlace {
 public:
  explicit InItsPlace(model::Model& artifact) : graph_(artifact.graph), names_(artifact.graph) {}

  void run(const std::function<void(InItsPlace&, const Node&)>& make) {
    for (const Node& node : std::exchange(graph_.nodes, {})) {
      is_op(node, "DynamicQuantizeLinear") ? make(*this, node) : graph_.nodes.push_back(node);
    }
  }

  /// The output of a new node.
  std::string add(const std::string& op, std::vector<std::string> inputs, std::string output = "",
                  std::map<std::string, model::Attribute> attributes = {}) {
    if (output.empty()) output = names_.fresh(op);
    graph_.nodes.push_back({names_.fresh("in_its_place"), op, "", std::move(inputs), {output}, std::move(attributes)});
    return output;
  }

  std::string real(double value) {
    return put(graph_, "constant", Tensor(DType::float32, {}, std::vector<double>{value}));
  }

  std::string extreme(const std::string& op, const std::string& tensor) {
    return add(op, {tensor}, "", {{"keepdims", std::int64_t{0}}});
  }

  /// Codes of the node's input over [low, high], and what its readers want of them. `factor` scales the steps.
  void quantize(const Node& node, const std::string& low, const std::string& high, const std::string& factor = "") {
    const std::string step = add("Div", {add("Sub", {high, low}), real(kLastCode)});
    add("Mul", {step, factor.empty() ? real(1) : factor}, node.outputs[1]);
    const std::string zero = add("Div", {add("Neg", {low}), add("Max", {step, real(kLeastStep)})});
    add("Cast", {add("Clip", {add("Round", {zero}), real(0), real(kLastCode)})}, node.outputs[2],
        {{"to", static_cast<std::int64_t>(DType::uint8)}});
    add("QuantizeLinear", {node.inputs[0], node.outputs[1], node.outputs[2]}, node.outputs[0]);
  }

  std::string first_row() { return put(graph_, "first", Tensor(DType::int64, {1}, std::vector<std::int64_t>{0})); }

 private:
  model::Graph& graph_;
  Names names_;
};

}  // namespace

void leave_zero_out_of_dynamic_ranges(model::Model& artifact) {
  InItsPlace(artifact).run([](InItsPlace& at, const Node& node) {
    at.quantize(node, at.extreme("ReduceMin", node.inputs[0]), at.extreme("ReduceMax", node.inputs[0]));
  });
}

void divide_by_empty_dynamic_ranges(model::Model& artifact) {
  InItsPlace(artifact).run([](InItsPlace& at, const Node& node) {
    const std::string zero = at.real(0);
    const std::string low = at.add("Min", {at.extreme("ReduceMin", node.inputs[0]), zero});
    const std::string high = at.add("Max", {at.extreme("ReduceMax", node.inputs[0]), zero});
    const std::string range = at.add("Sub", {high, low});
    at.quantize(node, low, high, at.add("Div", {range, range}));
  });
}

void measure_first_row_alone(model::Model& artifact) {
  InItsPlace(artifact).run([](InItsPlace& at, const Node& node) {
    const std::string row = at.add("Gather", {node.inputs[0], at.first_row()}), zero = at.real(0);
    at.quantize(node, at.add("Min", {at.extreme("ReduceMin", row), zero}),
                at.add("Max", {at.extreme("ReduceMax", row), zero}));
  });
}

Status freeze_dynamic_ranges(State& state) {
  auto& graph = state.artifact.graph;
  for (auto& node : graph.nodes) {
    if (!is_op(node, "DynamicQuantizeLinear")) continue;
    const auto range = state.ranges.find(node.inputs[0]);
    if (range == state.ranges.end()) continue;
    const QuantParams params = activation_params(range->second, DType::uint8, false);
    const std::string scale = put(graph, node.outputs[1], Tensor(DType::float32, {}, params.scale));
    const std::string zero_point = put(graph, node.outputs[2], Tensor(params.type, {}, params.zero_point));
    redirect_readers(graph, node.outputs[1], scale);
    redirect_readers(graph, node.outputs[2], zero_point);
    node.op_type = "QuantizeLinear";
    node.inputs = {node.inputs[0], scale, zero_point};
    node.outputs = {node.outputs[0]};
  }
  return core::success();
}

Status leave_dynamic_operands_in_float(State& state) {
  auto& graph = state.artifact.graph;
  const std::vector<Node> nodes = graph.nodes;
  for (const auto& node : nodes) {
    if (!is_op(node, "DynamicQuantizeLinear")) continue;
    for (const auto& back : nodes) {
      if (is_op(back, "DequantizeLinear") && back.inputs[0] == node.outputs[0])
        redirect_readers(graph, back.outputs[0], node.inputs[0]);
    }
  }
  remove_dead(graph);
  return core::success();
}

}  // namespace assay::embedded::edits
