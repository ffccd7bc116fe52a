#include "harness/conformance/old_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"

namespace assay::conformance {
namespace {

using model::Model;
using model::Node;

constexpr std::int64_t kOldestOfReference = 7;
constexpr std::array<std::string_view, 11> kBroadcasting{"Add", "And", "Div", "Equal", "Greater", "Less",
                                                         "Mul", "Or",  "Pow", "Sub",   "Xor"};

core::Error no_counterpart(const Node& node, std::string_view what) {
  return {core::ErrorKind::unsupported,
          fmt::format("node \"{}\" ({}): {} has no opset-7 form", node.name, node.op_type, what), node.name,
          node.op_type, ""};
}

class Upgrade {
 public:
  explicit Upgrade(Model model) : model_(std::move(model)) {}

  core::Result<Model> run() {
    std::vector<Node> nodes = std::exchange(model_.graph.nodes, {});
    model_.opsets[""] = kOldestOfReference;
    for (Node& node : nodes) {
      if (const core::Status status = upgrade(node); !status) {
        return status.error();
      }
      model_.graph.nodes.push_back(std::move(node));
    }
    return std::move(model_);
  }

 private:
  core::Status upgrade(Node& node) {
    if (std::ranges::find(kBroadcasting, node.op_type) != kBroadcasting.end()) {
      return upgrade_broadcast(node);
    }
    if (node.op_type == "PRelu") {
      return lay_along(node, 1);
    }
    if (node.op_type == "BatchNormalization" && (node.int_or("is_test", 0) == 0 || node.int_or("spatial", 1) == 0)) {
      return no_counterpart(node, "training, or statistics for each element,");
    }
    if (node.op_type == "Dropout" && node.int_or("is_test", 0) == 0) {
      return no_counterpart(node, "training");
    }
    for (const char* gone : {"is_test", "consumed_inputs", "broadcast"}) {
      node.attributes.erase(gone);
    }
    return core::success();
  }

  core::Status upgrade_broadcast(Node& node) {
    const bool placed = node.has("axis");
    const std::int64_t axis = node.int_or("axis", 0);
    node.attributes.erase("broadcast");
    node.attributes.erase("axis");
    return placed ? lay_along(node, axis) : core::success();
  }

  /// Gives the second operand the axes that it lacks behind its own, where its first is `axis` of the first operand.
  core::Status lay_along(Node& node, std::int64_t axis) {
    const std::optional<std::int64_t> whole = rank(node.inputs[0]);
    const std::optional<std::int64_t> part = rank(node.inputs[1]);
    if (!whole || !part) {
      return no_counterpart(node, "an operand of unknown rank");
    }
    const std::int64_t missing = *whole - (axis < 0 ? axis + *whole : axis) - *part;
    if (missing <= 0 || *part == 0) {
      return core::success();
    }
    std::vector<std::int64_t> axes(static_cast<std::size_t>(missing));
    std::iota(axes.begin(), axes.end(), *part);
    Node unsqueeze;
    unsqueeze.op_type = "Unsqueeze";
    unsqueeze.inputs = {node.inputs[1]};
    unsqueeze.outputs = {model::fresh_name(model_.graph, node.name + "_operand")};
    unsqueeze.name = unsqueeze.outputs.front();
    unsqueeze.attributes.emplace("axes", std::move(axes));
    node.inputs[1] = unsqueeze.outputs.front();
    model_.graph.nodes.push_back(std::move(unsqueeze));
    return core::success();
  }

  /// Of a tensor that the nodes until here, which have their new forms, make; the few nodes that ask are of small
  /// models.
  [[nodiscard]] std::optional<std::int64_t> rank(const std::string& name) const {
    const auto known = reference::infer_shapes(model_);
    if (!known || !known->contains(name)) {
      return std::nullopt;
    }
    const auto& shape = known->at(name).shape;
    return shape ? std::optional(static_cast<std::int64_t>(shape->size())) : std::nullopt;
  }

  Model model_;
};

}  // namespace

core::Result<Model> without_old_forms(Model model) {
  if (model.opset() >= kOldestOfReference) {
    return model;
  }
  return Upgrade(std::move(model)).run();
}

}  // namespace assay::conformance
